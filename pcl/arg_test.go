package pcl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culprit/grid"
)

// argCases: code at the entry of a function, and what is made of it, or a part of the error.
var argCases = []struct{ at, code, want string }{
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

func argMetric(at, code string) string {
	stmt := `append preInsn $function("` + at + `").entry (* ` + code + `; *)`
	if strings.HasPrefix(code, "foreach") {
		stmt = code + ` append preInsn $function("` + at + `").entry (* if ($arg.c->peer->name == s) m++; *)`
	}
	return `resourceList words is string { items { "one", "two" }; flavor { any }; } metric m { name "m"; ` + head + ` base is counter { ` + stmt + ` } }`
}

// TestArguments compiles arguments with names, fields, texts and places on the stack, and what is wrong with them.
func TestArguments(t *testing.T) {
	for _, c := range argCases {
		lib, problems, err := Load(Options{Texts: []string{argMetric(c.at, c.code)}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range problems {
			got += p.Msg
		}
		if got == "" {
			got = codeOf(lib)
		}
		if got != c.want && !strings.Contains(got, c.want) || strings.HasPrefix(c.want, "m ") && got != c.want {
			t.Errorf("%s at %s:\n got %s\nwant %s", c.code, c.at, got, c.want)
		}
	}
	t.Logf("%d pieces of code", len(argCases))
}

// codeOf is the code of the metric m, or why there is none.
func codeOf(lib *Library) string {
	plan, err := lib.Compile("m", grid.Whole(), newTarget())
	if err != nil {
		return err.Error()
	}
	var code []string
	for i := range plan.Requests {
		for _, in := range plan.Requests[i].Code {
			code = append(code, planWriter{plan, func(f FuncID) string { return fmt.Sprint(f) }}.instr(in))
		}
	}
	return strings.Join(code, "|")
}

// TestArgumentsElsewhere: at lines arguments are refused, and errors keep their cause.
func TestArgumentsElsewhere(t *testing.T) {
	for _, code := range []string{"m += $arg[0]", "m += $arg.len", `if ($arg[0] == "x") m++`, "m += $arg[9]"} {
		lib := load(t, `metric m { name "m"; `+head+` base is counter { append preInsn $line("work.c", 120) (* `+code+`; *) } }`)
		if _, err := lib.Compile("m", grid.Whole(), newTarget()); err == nil || !strings.Contains(err.Error(), "expected it at the .entry of a function") {
			t.Errorf("%s at a line: %v", code, err)
		}
	}
	lib := load(t, argMetric("work", "m += $arg.lenn"))
	_, err := lib.Compile("m", grid.Whole(), newTarget())
	var no *NoSuchName
	if !errors.As(err, &no) || no.Name != "lenn" {
		t.Errorf("%v is no *NoSuchName", err)
	}
}

// TestArgumentsOfEach: the same code at several functions means something else in each.
func TestArgumentsOfEach(t *testing.T) {
	lib := load(t, `resourceList two is procedure { items { "work", "leaf", "write" }; flavor { any }; }
metric m { name "m"; `+head+` base is counter { foreach f in two append preInsn f.entry (* if ($arg[0] == "x") m++; *) append preInsn two.entry (* m += $arg[6]; *) } }`)
	const want = `if ([$arg[0]+0] == "x\x00") m += 1|if ([$arg[0]+0] == "x\x00") m += 1`
	got := codeOf(lib)
	if !strings.Contains(got, "found $arg[0]") { // work's first argument is a number
		t.Errorf("got %s", got)
	}
	lib = load(t, `resourceList two is procedure { items { "leaf", "write" }; flavor { any }; }
metric m { name "m"; `+head+` base is counter { foreach f in two append preInsn f.entry (* if ($arg[0] == "x") m++; *) } }`)
	if got := codeOf(lib); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	lib = load(t, `resourceList two is procedure { items { "work", "write" }; flavor { any }; }
metric m { name "m"; `+head+` base is counter { append preInsn two.entry (* m += $arg[6]; *) } }`)
	if got := codeOf(lib); got != "m += stack int64[$sp+8]|m += uint64[$sp+8]" {
		t.Errorf("got %s", got)
	}
}
