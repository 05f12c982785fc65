package compile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
)

// TestResults: $return has the type that DWARF says; where it says none a cast does, and what depends on it is refused without one.
func TestResults(t *testing.T) {
	for _, c := range cases.Results {
		lib, problems, err := check.Load(check.Options{Texts: []string{cases.ReturnMetric(c.At, c.Code)}})
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
		if got != c.Want && (strings.Contains(c.Want, "m += ") || !strings.Contains(got, c.Want)) {
			t.Errorf("%s at %s:\n got %s\nwant %s", c.Code, c.At, got, c.Want)
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
		plan, err := Plan(cases.Load(t, cases.ReturnMetric("write", code)), "m", grid.Whole(), cases.NewTarget())
		if err != nil {
			t.Errorf("%s: %v", code, err)
		} else if got := strings.Join(plan.Untyped, "|"); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

// TestResultsOfEach: one line of code means another number in each function of a list.
func TestResultsOfEach(t *testing.T) {
	lib := cases.Load(t, `resourceList mixed is procedure { items { "sem_wait", "work", "leaf" }; flavor { any }; }
metric m { name "m"; `+cases.Head+` base is counter { foreach f in mixed prepend preInsn f.return (* if ($return < 0) m++; *) prepend preInsn mixed.return (* m += $return; *) } }`)
	const want = "if (int32($return) < 0) m += 1|if ($return < 0) m += 1|if (uint8($return) < 0) m += 1|m += int32($return)|m += $return|m += uint8($return)"
	if got := codeOf(lib); got != want {
		t.Errorf(" got %s\nwant %s", got, want)
	}
}

// A typedEnv is a fake target of which DWARF says more.
type typedEnv struct {
	*cases.Target
	arg pcl.ArgPlace
	err error
}

func (e typedEnv) Arg(pcl.FuncID, pcl.ArgPath) (pcl.ArgPlace, error) { return e.arg, e.err }

// TestPlainArguments: $arg[0] has the type that DWARF says, too; what is known not to be there is refused, and what is not known is read as
// it stands in the register.
func TestPlainArguments(t *testing.T) {
	plain := errors.New("DWARF does not say where it is")
	for _, c := range []struct {
		code string
		env  typedEnv
		want string
	}{
		{"if ($arg[0] < 0) m++", typedEnv{arg: pcl.ArgPlace{Narrow: pcl.ArgLoad{Size: 4, Signed: true}}}, "if (int32($arg[0]) < 0) m += 1"},
		{"m += $arg[2]", typedEnv{arg: pcl.ArgPlace{Register: 2, Narrow: pcl.ArgLoad{Size: 1}}}, "m += uint8($arg[2])"},
		{"m += $arg[1]", typedEnv{arg: pcl.ArgPlace{Register: 1, Loads: []pcl.ArgLoad{{Offset: 0, Size: 4, Signed: true}}}}, "m += $arg[1]"},
		{"m += $arg[3]", typedEnv{err: &pcl.NoSuchName{What: "argument", Name: "3", Of: "work", Known: []string{"a"}}}, `found $arg[3]: work has no argument "3"; it has a`},
		{"m += (int)$arg[3]", typedEnv{err: &pcl.NoSuchName{What: "argument", Name: "3", Of: "work"}}, `found $arg[3]: work has no argument "3"`},
		{"m += $arg[0]", typedEnv{err: &pcl.NoValue{Reason: "it was optimised away"}}, "found $arg[0]: it was optimised away"},
		{"m += (long)$arg[0]", typedEnv{err: &pcl.NoValue{Reason: "it was optimised away"}}, "found $arg[0]: it was optimised away"},
		{"m += $arg[0]", typedEnv{err: plain}, "m += $arg[0]"},
		{"m += (long)$arg[0]", typedEnv{err: plain}, "m += $arg[0]"},
		{"if ($arg[0] < 0) m++", typedEnv{err: plain}, "write (int)$arg[0] < 0 if it is an int"},
		{"if ((int)$arg[0] < 0) m++", typedEnv{err: plain}, "if (int32($arg[0]) < 0) m += 1"},
	} {
		lib := cases.Load(t, cases.ArgMetric("work", c.code))
		c.env.Target = cases.NewTarget()
		plan, err := Plan(lib, "m", grid.Whole(), c.env)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = plan.InstrText(plan.Requests[0].Code[0])
		}
		if got != c.want && (strings.Contains(c.want, "m += ") || !strings.Contains(got, c.want)) {
			t.Errorf("%s: got %s, want %s", c.code, got, c.want)
		}
	}
}

// A strippedEnv is a target whose files hold no DWARF themselves.
type strippedEnv struct{ *cases.Target }

func (strippedEnv) OwnTypes(pcl.FuncID) bool { return false }

// TestTypesOfLibraries: for the functions of a library's list no file of debug symbols is read; for others it is.
func TestTypesOfLibraries(t *testing.T) {
	list := func(library, code string) string {
		return `resourceList waits is procedure { items { "sem_wait" }; flavor { any }; ` + library + ` }
metric m { name "m"; ` + cases.Head + ` base is counter { foreach f in waits prepend preInsn f.return (* ` + code + `; *) } }`
	}
	for _, c := range []struct{ text, want string }{
		{list("", "m += $return"), "m += int32($return)"},
		{list("library true;", "m += $return"), "m += $return"},
		{list("library true;", "if ((int)$return < 0) m++"), "if (int32($return) < 0) m += 1"},
		{list("library true;", "if ($return < 0) m++"), "write (int)$return < 0 if it is an int"},
		{cases.ReturnMetric("sem_wait", "m += $return"), "m += int32($return)"},
	} {
		plan, err := Plan(cases.Load(t, c.text), "m", grid.Whole(), strippedEnv{cases.NewTarget()})
		got := fmt.Sprint(err)
		if err == nil {
			got = plan.InstrText(plan.Requests[0].Code[0])
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}
