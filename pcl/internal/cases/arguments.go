package cases

import "strings"

// Arguments are cases: code at the entry of a function, and what is made of it, or a part of the error.
var Arguments = []struct{ At, Code, Want string }{
	{"work", "m += $arg.len", "m += int32($arg[0])"},
	{"work", "m += $arg.len * 2 + 1", "m += (int32($arg[0]) * 2) + 1"},
	{"work", "m += $arg.c->fd", "m += int32[$arg[1]+8]"},
	{"work", "m += $arg[1]->fd", "m += int32[$arg[1]+8]"},
	{"work", "m += $arg.c->at.port", "m += uint16[$arg[1]+18]"},
	{"work", "m -= $arg.seventh", "m += -stack int64[$sp+8]"},
	{"work", "m += $arg.seventh->state", "m += uint8[stack uint64[$sp+8]+4]"},
	{"work", "m += $arg[6]", "m += stack int64[$sp+8]"},
	{"write", "m += $arg[7]", "m += uint64[$sp+16]"},
	{"work", "m += $arg[7]", `found $arg[7]: work has no parameter "[7]"`},
	{"work", "m += $arg[5]", "m += $arg[5]"},
	{"work", "if ($arg.c->fd == 3) m++", "if (int32[$arg[1]+8] == 3) m += 1"},
	{"work", "if ($arg.len) m++", "if (int32($arg[0])) m += 1"},
	{"work", `if ($arg.c->peer->name == "GET") m++`, `if ([uint64[uint64[$arg[1]+24]+0]+0] == "GET\x00") m += 1`},
	{"work", `if ("GET" == $arg.c->peer->name) m++`, `if ([uint64[uint64[$arg[1]+24]+0]+0] == "GET\x00") m += 1`},
	{"work", `if ($arg.c->peer->name != "") m++`, `if (([uint64[uint64[$arg[1]+24]+0]+0] == "\x00") == 0) m += 1`},
	{"work", `if ($arg.c->peer->tag == "abc") m++`, `if ([uint64[$arg[1]+24]+40] == "abc\x00") m += 1`},
	{"work", `if ($arg.c->peer->tag == "abcd") m++`, `if ([uint64[$arg[1]+24]+40] == "abcd") m += 1`},
	{"work", `if ($arg.c->peer->tag == "abcde") m++`, "expected at most 4: $arg.c->peer->tag has no room for more"},
	{"work", `foreach s in words`, `if ([uint64[uint64[$arg[1]+24]+0]+0] == "one\x00") m += 1|if ([uint64[uint64[$arg[1]+24]+0]+0] == "two\x00") m += 1`},
	{"leaf", `if ($arg.text == "x" && $arg[0] != 0) m++`, `if (([$arg[0]+0] == "x\x00") && ($arg[0] != 0)) m += 1`},
	{"leaf", `if ($arg.s.name == "x") m++`, `if ([$sp+16] == "x\x00") m += 1`},
	{"write", `if ($arg[1] == "x") m++`, `if ([$arg[1]+0] == "x\x00") m += 1`},
	{"write", `if ($arg[7] == "x") m++`, `if ([uint64[$sp+16]+0] == "x\x00") m += 1`},
	{"write", `if ($arg[0] == 4) m++`, `if ($arg[0] == 4) m += 1`},
	{"write", "m += $arg.fd", "the types of write are not known: there is no DWARF; build it with -g"},
	{"write", "m += $arg[0]->fd", "found $arg[0]->fd: the types of write are not known"},
	{"write", `if ($arg[1]->name == "x") m++`, "the types of write are not known"},
	{"work", "m += $arg.lenn", `found $arg.lenn: work has no parameter "lenn" (did you mean "len"?); it has len, c, seventh`},
	{"work", "m += $arg.c->pear", `found $arg.c->pear: struct conn has no field "pear" (did you mean "peer"?); it has fd, peer, at`},
	{"work", `if ($arg.c->peer->name == "` + strings.Repeat("x", 127) + `") m++`, strings.Repeat("x", 127) + `\x00"`},
	{"work", `if ($arg.c->peer->name == "` + strings.Repeat("x", 128) + `") m++`, "found a text of 128 bytes, expected at most 127"},
	{"write", "m += $arg[127]", "m += uint64[$sp+976]"},
	{"work", "m += $arg[128]", "found $arg[128], expected at most [127]"},
	{"work", "m += $arg->len", "found $arg->len, expected $arg.len for the argument of this name"},
	{"work", `if ($arg.c->peer->name < "x") m++`, `found a string on one side of "<", expected a whole number`},
	{"work", `if (m == "x") m++`, `found a string on one side of "==", expected a whole number`},
	{"work", `m += "x"`, `found a string, expected a whole number`},
}

// ArgMetric is a metric m with code at the entry of a function.
func ArgMetric(at, code string) string {
	stmt := `append preInsn $function("` + at + `").entry (* ` + code + `; *)`
	if strings.HasPrefix(code, "foreach") {
		stmt = code + ` append preInsn $function("` + at + `").entry (* if ($arg.c->peer->name == s) m++; *)`
	}
	return `resourceList words is string { items { "one", "two" }; flavor { any }; } metric m { name "m"; ` + Head + ` base is counter { ` + stmt + ` } }`
}

// Results are cases: code at the return of a function, and what is made of it, or a part of the error. The fake target knows nothing of write;
// sem_wait returns an int, leaf a bool, work a long, exit nothing.
var Results = []struct{ At, Code, Want string }{
	{"sem_wait", "if ($return < 0) m++", "if (int32($return) < 0) m += 1"},
	{"sem_wait", "if ($return == -1) m++", "if (int32($return) == -1) m += 1"},
	{"sem_wait", "m += $return * 2", "m += int32($return) * 2"},
	{"sem_wait", "m += (unsigned)$return", "m += uint32(int32($return))"},
	{"sem_wait", "m += (int)$return", "m += int32($return)"},
	{"sem_wait", "m += (long)$return", "m += int32($return)"},
	{"sem_wait", "if ((bool)$return) m++", "if (int32($return) != 0) m += 1"},
	{"leaf", "m += $return", "m += uint8($return)"},
	{"leaf", "m += (char)$return", "m += int8(uint8($return))"},
	{"work", "if ($return < 0) m++", "if ($return < 0) m += 1"},
	{"work", "m += (int)$return", "m += int32($return)"},
	{"work", "m += (short)-$return", "m += int16(-$return)"},
	{"work", "m += -(short)$return", "m += -int16($return)"},
	{"work", "m += (int)($return + 1) * 2", "m += int32($return + 1) * 2"},
	{"work", "m += (unsigned char)300 + (long)-1 + (int)4294967295", "m += 42"},
	{"work", "m += weigh(1) + (int)weigh(2)", "m += call 60(1) + int32(call 60(2))"},
	{"write", "m += (long)$return", "m += $return"},
	{"write", "m -= (int)$return", "m += -int32($return)"},
	{"write", "k = $return; m += (int)k", "k = $return|m += int32(k)"},
	{"write", "k += (long)$return; m += k", "k += $return|m += k"},
	{"write", "m += $return", "m += $return"},
	{"write", "if ($return > 4096) m++", "if ($return > 4096) m += 1"},
	{"write", "if ($return == 0) m++", "if ($return == 0) m += 1"},
	{"write", "if ((int)$return < 0) m++", "if (int32($return) < 0) m += 1"},
	{"write", "if ((long)$return < 0) m++", "if ($return < 0) m += 1"},
	{"write", "if ((size_t)$return >= 1) m++", "if ($return >= 1) m += 1"},
	{"write", "if ((bool)$return) m++", "if (uint8($return) != 0) m += 1"},
	{"write", "if ($return < 0) m++", "DWARF does not say of which size and sign $return of write is; write (int)$return < 0 if it is an int"},
	{"write", "if ($return >= 1) m++", "found $return >= 1, expected a type"},
	{"write", "if (0 < $return) m++", "write 0 < (int)$return if it is an int"},
	{"write", "if ($return == -1) m++", "found $return == -1, expected a type"},
	{"write", "if (-1 != $return) m++", "found -1 != $return, expected a type"},
	{"write", "if ($return - 4 < 0) m++", "found $return - 4 < 0, expected a type"},
	{"write", "if (-$return > 0) m++", "found -$return > 0, expected a type"},
	{"write", "k = $return; if (k < 0) m++", "found k < 0, expected a type: DWARF does not say of which size and sign $return of write is"},
	{"write", "k = (int)$return; if (k < 0) m++", "k = int32($return)|if (k < 0) m += 1"},
	{"exit", "m += $return", "found $return, expected a whole number or a pointer: exit returns nothing"},
	{"exit", "m += (int)$return", "found $return, expected a whole number or a pointer: exit returns nothing"},
	{"work", "m += (double)$return", "found the type double, expected one of whole numbers"},
	{"work", "m += (unsigned bool)$return", `found the type "unsigned bool", expected (char), (short)`},
	{"work", `m += (int)"x"`, "found a string, expected a whole number"},
}

// ReturnMetric is a metric m with code at the return of a function.
func ReturnMetric(at, code string) string {
	return `metric m { name "m"; ` + Head + ` counter k; base is counter { prepend preInsn $function("` + at + `").return (* ` + code + `; *) } }`
}
