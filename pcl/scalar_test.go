package pcl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culprit/grid"
)

// returnCases: code at the return of a function, and what is made of it, or a part of the error. The fake target knows nothing of write;
// sem_wait returns an int, leaf a bool, work a long, exit nothing.
var returnCases = []struct{ at, code, want string }{
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

func returnMetric(at, code string) string {
	return `metric m { name "m"; ` + head + ` counter k; base is counter { prepend preInsn $function("` + at + `").return (* ` + code + `; *) } }`
}

// TestResults: $return has the type that DWARF says; where it says none a cast does, and what depends on it is refused without one.
func TestResults(t *testing.T) {
	for _, c := range returnCases {
		lib, problems, err := Load(Options{Texts: []string{returnMetric(c.at, c.code)}})
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
		if got != c.want && (strings.Contains(c.want, "m += ") || !strings.Contains(got, c.want)) {
			t.Errorf("%s at %s:\n got %s\nwant %s", c.code, c.at, got, c.want)
		}
	}
}

// TestUntyped: what is summed or compared, or becomes the value, without a type that anybody says is noted; what a cast says, or another counter holds,
// is not.
func TestUntyped(t *testing.T) {
	for code, want := range map[string]string{
		"m += $return": "$return of write", "m -= $return / 2": "$return of write", "m = $return": "$return of write",
		"k = $return; m += k": "$return of write", "m += $return; m += $return": "$return of write",
		"m += (long)$return": "", "m += (int)$return": "", "k = $return": "", "k = $return; m += (int)k": "", "if ((int)$return > 4096) m++": "",
		"if ($return > 4096) m++": "$return of write", "if (4096 == $return) m++": "$return of write", "k = $return; if (k != 7) m++": "$return of write",
		"if ($return >= k) m++": "$return of write", "if (k < 7) m++": "",
		"if ($return) m++": "$return of write", "if ($return || k) m++": "$return of write", "if (k && $return) m++": "$return of write",
		"k = $return; if (k) m++": "$return of write", "if ((bool)$return) m++": "", "if (k) m++": "",
	} {
		plan, err := load(t, returnMetric("write", code)).Compile("m", grid.Whole(), newTarget())
		if err != nil {
			t.Errorf("%s: %v", code, err)
		} else if got := strings.Join(plan.Untyped, "|"); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

// TestResultsOfEach: one line of code means another number in each function of a list.
func TestResultsOfEach(t *testing.T) {
	lib := load(t, `resourceList mixed is procedure { items { "sem_wait", "work", "leaf" }; flavor { any }; }
metric m { name "m"; `+head+` base is counter { foreach f in mixed prepend preInsn f.return (* if ($return < 0) m++; *) prepend preInsn mixed.return (* m += $return; *) } }`)
	const want = "if (int32($return) < 0) m += 1|if ($return < 0) m += 1|if (uint8($return) < 0) m += 1|m += int32($return)|m += $return|m += uint8($return)"
	if got := codeOf(lib); got != want {
		t.Errorf(" got %s\nwant %s", got, want)
	}
}

// A typedEnv is a fake target of which DWARF says more.
type typedEnv struct {
	*fakeEnv
	arg ArgPlace
	err error
}

func (e typedEnv) Arg(FuncID, ArgPath) (ArgPlace, error) { return e.arg, e.err }

// TestPlainArguments: $arg[0] has the type that DWARF says, too; what is known not to be there is refused, and what is not known is read as
// it stands in the register.
func TestPlainArguments(t *testing.T) {
	plain := errors.New("DWARF does not say where it is")
	for _, c := range []struct {
		code string
		env  typedEnv
		want string
	}{
		{"if ($arg[0] < 0) m++", typedEnv{arg: ArgPlace{Narrow: ArgLoad{Size: 4, Signed: true}}}, "if (int32($arg[0]) < 0) m += 1"},
		{"m += $arg[2]", typedEnv{arg: ArgPlace{Register: 2, Narrow: ArgLoad{Size: 1}}}, "m += uint8($arg[2])"},
		{"m += $arg[1]", typedEnv{arg: ArgPlace{Register: 1, Loads: []ArgLoad{{0, 4, true}}}}, "m += $arg[1]"},
		{"m += $arg[3]", typedEnv{err: &NoSuchName{What: "argument", Name: "3", Of: "work", Known: []string{"a"}}}, `found $arg[3]: work has no argument "3"; it has a`},
		{"m += (int)$arg[3]", typedEnv{err: &NoSuchName{What: "argument", Name: "3", Of: "work"}}, `found $arg[3]: work has no argument "3"`},
		{"m += $arg[0]", typedEnv{err: &NoValue{"it was optimised away"}}, "found $arg[0]: it was optimised away"},
		{"m += (long)$arg[0]", typedEnv{err: &NoValue{"it was optimised away"}}, "found $arg[0]: it was optimised away"},
		{"m += $arg[0]", typedEnv{err: plain}, "m += $arg[0]"},
		{"m += (long)$arg[0]", typedEnv{err: plain}, "m += $arg[0]"},
		{"if ($arg[0] < 0) m++", typedEnv{err: plain}, "write (int)$arg[0] < 0 if it is an int"},
		{"if ((int)$arg[0] < 0) m++", typedEnv{err: plain}, "if (int32($arg[0]) < 0) m += 1"},
	} {
		lib := load(t, argMetric("work", c.code))
		c.env.fakeEnv = newTarget()
		plan, err := lib.Compile("m", grid.Whole(), c.env)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = planWriter{plan, number}.instr(plan.Requests[0].Code[0])
		}
		if got != c.want && (strings.Contains(c.want, "m += ") || !strings.Contains(got, c.want)) {
			t.Errorf("%s: got %s, want %s", c.code, got, c.want)
		}
	}
}

// A strippedEnv is a target whose files hold no DWARF themselves.
type strippedEnv struct{ *fakeEnv }

func (strippedEnv) OwnTypes(FuncID) bool { return false }

// TestTypesOfLibraries: for the functions of a library's list no file of debug symbols is read; for others it is.
func TestTypesOfLibraries(t *testing.T) {
	list := func(library, code string) string {
		return `resourceList waits is procedure { items { "sem_wait" }; flavor { any }; ` + library + ` }
metric m { name "m"; ` + head + ` base is counter { foreach f in waits prepend preInsn f.return (* ` + code + `; *) } }`
	}
	for _, c := range []struct{ text, want string }{
		{list("", "m += $return"), "m += int32($return)"},
		{list("library true;", "m += $return"), "m += $return"},
		{list("library true;", "if ((int)$return < 0) m++"), "if (int32($return) < 0) m += 1"},
		{list("library true;", "if ($return < 0) m++"), "write (int)$return < 0 if it is an int"},
		{returnMetric("sem_wait", "m += $return"), "m += int32($return)"},
	} {
		plan, err := load(t, c.text).Compile("m", grid.Whole(), strippedEnv{newTarget()})
		got := fmt.Sprint(err)
		if err == nil {
			got = planWriter{plan, number}.instr(plan.Requests[0].Code[0])
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
