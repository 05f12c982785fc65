package compile

import (
	"errors"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
)

// TestArguments compiles arguments with names, fields, texts and places on the stack, and what is wrong with them.
func TestArguments(t *testing.T) {
	for _, c := range cases.Arguments {
		lib, problems, err := check.Load(check.Options{Texts: []string{cases.ArgMetric(c.At, c.Code)}})
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
		if got != c.Want && !strings.Contains(got, c.Want) || strings.HasPrefix(c.Want, "m ") && got != c.Want {
			t.Errorf("%s at %s:\n got %s\nwant %s", c.Code, c.At, got, c.Want)
		}
	}
	t.Logf("%d pieces of code", len(cases.Arguments))
}

// codeOf is the code of the metric m, or why there is none.
func codeOf(lib *pcl.Library) string {
	plan, err := Plan(lib, "m", grid.Whole(), cases.NewTarget())
	if err != nil {
		return err.Error()
	}
	var code []string
	for i := range plan.Requests {
		for _, in := range plan.Requests[i].Code {
			code = append(code, plan.InstrText(in))
		}
	}
	return strings.Join(code, "|")
}

// TestArgumentsElsewhere: at lines arguments are refused, and errors keep their cause.
func TestArgumentsElsewhere(t *testing.T) {
	for _, code := range []string{"m += $arg[0]", "m += $arg.len", `if ($arg[0] == "x") m++`, "m += $arg[9]"} {
		lib := cases.Load(t, `metric m { name "m"; `+cases.Head+` base is counter { append preInsn $line("work.c", 120) (* `+code+`; *) } }`)
		if _, err := Plan(lib, "m", grid.Whole(), cases.NewTarget()); err == nil || !strings.Contains(err.Error(), "expected it at the .entry of a function") {
			t.Errorf("%s at a line: %v", code, err)
		}
	}
	lib := cases.Load(t, cases.ArgMetric("work", "m += $arg.lenn"))
	_, err := Plan(lib, "m", grid.Whole(), cases.NewTarget())
	var no *pcl.NoSuchName
	if !errors.As(err, &no) || no.Name != "lenn" {
		t.Errorf("%v is no *NoSuchName", err)
	}
}

// TestArgumentsOfEach: the same code at several functions means something else in each.
func TestArgumentsOfEach(t *testing.T) {
	lib := cases.Load(t, `resourceList two is procedure { items { "work", "leaf", "write" }; flavor { any }; }
metric m { name "m"; `+cases.Head+` base is counter { foreach f in two append preInsn f.entry (* if ($arg[0] == "x") m++; *) append preInsn two.entry (* m += $arg[6]; *) } }`)
	const want = `if ([$arg[0]+0] == "x\x00") m += 1|if ([$arg[0]+0] == "x\x00") m += 1`
	got := codeOf(lib)
	if !strings.Contains(got, "found $arg[0]") { // work's first argument is a number
		t.Errorf("got %s", got)
	}
	lib = cases.Load(t, `resourceList two is procedure { items { "leaf", "write" }; flavor { any }; }
metric m { name "m"; `+cases.Head+` base is counter { foreach f in two append preInsn f.entry (* if ($arg[0] == "x") m++; *) } }`)
	if got := codeOf(lib); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	lib = cases.Load(t, `resourceList two is procedure { items { "work", "write" }; flavor { any }; }
metric m { name "m"; `+cases.Head+` base is counter { append preInsn two.entry (* m += $arg[6]; *) } }`)
	if got := codeOf(lib); got != "m += stack int64[$sp+8]|m += uint64[$sp+8]" {
		t.Errorf("got %s", got)
	}
}
