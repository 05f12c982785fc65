package notes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culprit/daemon/children"
	"culprit/daemon/program"
	"culprit/daemon/sites"
	"culprit/daemon/target"
	"culprit/pcl"
)

// nothing is a target of which no code is known.
func nothing() *target.Target { return &target.Target{Code: target.Code{Program: &program.Program{}}} }

func lacks(names ...string) Plan {
	plan := &pcl.Plan{}
	for _, n := range names {
		plan.Absent = append(plan.Absent, &pcl.NoFunction{Name: n})
	}
	return Plan{Plan: plan, Target: nothing()}
}

// TestLines: each fact has its sentence, in one order, and what is not the case has none.
func TestLines(t *testing.T) {
	none := (&pcl.NoFunction{Name: "a"}).Error()
	for name, c := range map[string]struct {
		p    Pair
		want string
	}{
		"nothing":       {Pair{}, ""},
		"one late":      {Pair{Late: children.Late{Processes: 1, Most: 0.25}}, "1 process that was started meanwhile is measured from 0.2 s after its beginning: what it did before is not counted"},
		"two late":      {Pair{Late: children.Late{Processes: 2, Most: 1.5}}, "2 processes that were started meanwhile are measured from up to 1.5 s after their beginning: what they did before is not counted"},
		"missed":        {Pair{Missed: true}, "processes that it started ended before they could be measured: what they did is not counted"},
		"shared":        {Pair{Units: "bytes", More: 3, Less: 12345.6}, "up to 3 bytes more may be its own: it ended, or began, while other threads did, in a fifth of a second in which one may have had the memory of the other; up to 1.235e+04 bytes of it may be of threads that had its memory before"},
		"handed":        {Pair{Handed: true}, "threads may have begun in the memory of ones that ended, and go on with what these have left; then only a sum of changes (+=, -=, ++) is right"},
		"unloaded":      {Pair{Unloaded: map[string]int{"b\x1b.so": 2}}, `b\x1b.so was unloaded, or the program dropped or replaced its code (seen 2 times): from then until probes are in the code again its calls are not counted, and times may be wrong`},
		"left out once": {Pair{LeftOut: []string{LeftOut("f", errors.New("too short")), LeftOut("f", errors.New("too short"))}}, "f takes no probe: its calls are not counted (too short)"},
		"order":         {Pair{Unseen: TakesNoProbe("g"), Handed: false, Missed: true, LeftOut: []string{"x"}}, "x; processes that it started ended before they could be measured: what they did is not counted; g takes no probe: what happens in it is not seen"},
		"absent":        {Pair{Plans: []Plan{lacks("a", "b"), lacks("a")}}, none},
		"untyped":       {Pair{Plans: []Plan{{Plan: &pcl.Plan{Untyped: []string{"$arg[0] of f", "$arg[1] of f"}}, Target: nothing()}}}, "the type of $arg[0] of f (and 1 more) is not known: all 64 bits of the register count, in which an int of -1 is 4294967295 or has anything above its 32 bits; a cast such as (int), or (bool) of one byte, says what it is"},
	} {
		if got := strings.Join(Look(&c.p).Lines(), "; "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestManyAbsent: of many names some are said.
func TestManyAbsent(t *testing.T) {
	var names []string
	for i := range 9 {
		names = append(names, fmt.Sprint("f", i))
	}
	lines := Look(&Pair{Plans: []Plan{lacks(names...)}}).Lines()
	if len(lines) != target.MostNamed+1 || lines[target.MostNamed] != "4 more names of its lists mean nothing" {
		t.Errorf("%q", lines)
	}
}

func TestJumps(t *testing.T) {
	for want, j := range map[string]sites.Jumps{
		"f leaves by a jump to functions that are not known at 1 of its 2 exits: what it does from there on is not in the value": {Count: 1, Exits: 2},
		"f leaves by a jump to a, b, c, d, e at 6 of its 6 exits: what it does from there on is not in the value":                {Count: 6, Exits: 6, To: []string{"a", "b", "c", "d", "e", "g"}},
	} {
		if got := jumpLine("f", j); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
