package daemon

import (
	"slices"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// leafCalls counts calls of leaf from inside a loop, and how often the loop is left or goes round again.
const leafCalls = `
metric leafCalls { name "leaf_calls"; units calls; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Calls of leaf.";
	constraint loopInclusive;
	base is counter { append preInsn $function("leaf").entry constrained (* leafCalls++; *) } }
metric loopExits { name "loop_exits"; units exits; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Ways out of a loop.";
	constraint exits /Code/*/* is replace counter { prepend preInsn $constraint[0].exit (* loopExits++; *) }
	base is void { } }
metric loopAgain { name "loop_again"; units turns; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Turns that another follows.";
	constraint again /Code/*/* is replace counter { prepend preInsn $constraint[0].end_iter (* loopAgain++; *) }
	base is void { } }
`

// TestLoops counts entries, turns and exits of loops in a running program that counts them itself, beside counters at the
// entries and returns of the same functions that come and go.
func TestLoops(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-O1"}, {"-Os"}, {"-O2"}, {"-O2", "-fcf-protection"}, {"-O2", "-static"}} {
		t.Run(flags[len(flags)-1], func(t *testing.T) {
			p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/loops.c", flags...), "30000", "3")
			d := attachWith(t, leafCalls, p.PID)
			loopsCount(t, d, p)
			detachClean(t, d, p.PID)
			p.Stop(t)
		})
	}
}

func loopsCount(t *testing.T, d *Daemon, p *testprog.Prog) {
	t.Helper()
	names, err := d.ListLoops("loops.c", "nest")
	if err != nil || !slices.Equal(names, []string{"loop_1", "loop_1.1"}) {
		t.Fatalf("loops of nest: %v, %v", names, err)
	}
	var s, other sums
	doors := []grid.PairKey{key(t, "exec_time_inclusive", "/Code/loops.c/nest"), key(t, "procedure_calls", "/Code/loops.c/deep")}
	d.mustEnable(t, &other, doors...)
	want := map[grid.PairKey]string{
		key(t, "procedure_calls", "/Code/loops.c/nest/loop_1"):     "outer_enter",
		key(t, "loop_iterations", "/Code/loops.c/nest/loop_1"):     "outer",
		key(t, "loop_exits", "/Code/loops.c/nest/loop_1"):          "outer_enter",
		key(t, "procedure_calls", "/Code/loops.c/nest/loop_1.1"):   "inner_enter",
		key(t, "loop_iterations", "/Code/loops.c/nest/loop_1.1"):   "inner",
		key(t, "loop_exits", "/Code/loops.c/nest/loop_1.1"):        "inner_enter",
		key(t, "leaf_calls", "/Code/loops.c/nest/loop_1.1"):        "leaf_inside",
		key(t, "loop_iterations", "/Code/loops.c/choose/loop_1"):   "chosen",
		key(t, "loop_iterations", "/Code/loops.c/deep/loop_1"):     "deep",
		key(t, "loop_again", "/Code/loops.c/nest/loop_1.1"):        "",
		key(t, "exec_time_inclusive", "/Code/loops.c/nest/loop_1"): "",
	}
	var keys []grid.PairKey
	for k := range want {
		keys = append(keys, k)
	}
	d.mustEnable(t, &s, keys...)
	d.Disable(doors[:1]) // what a site serves changes while its loops stay
	d.Settle()
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	counts := p.Counts()
	for k, name := range want {
		if name != "" && (uint64(s.of(k)) != counts[name] || counts[name] == 0) {
			t.Errorf("%s: %.0f counted, the program says %s %d", k, s.of(k), name, counts[name])
		}
	}
	again := uint64(s.of(key(t, "loop_again", "/Code/loops.c/nest/loop_1.1")))
	if w := counts["inner"] - counts["inner_enter"]; again != w {
		t.Errorf("%d turns of the inner loop went on, of %d that did", again, w)
	}
	spent := s.of(key(t, "exec_time_inclusive", "/Code/loops.c/nest/loop_1"))
	if spent <= 0 {
		t.Errorf("no time was spent in the outer loop")
	}
	t.Logf("%v; %.3f s in the outer loop of nest", counts, spent)
}

// TestLoopsThatAreNone: what a focus names must be there.
func TestLoopsThatAreNone(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/loops.c"), "10", "1")
	d := attachTo(t, p.PID)
	var s sums
	for _, focus := range []string{"/Code/loops.c/nest/loop_9", "/Code/loops.c/leaf/loop_1"} {
		if r := d.Enable([]grid.PairKey{key(t, "loop_iterations", focus)}, &s); r[0].Err == nil {
			t.Errorf("%s was enabled", focus)
		} else {
			t.Log(r[0].Err)
		}
	}
	if r := d.Enable([]grid.PairKey{key(t, "loop_iterations", "/Code/loops.c/nest")}, &s); r[0].Err == nil {
		t.Error("turns of a function were enabled")
	} else {
		t.Log(r[0].Err)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
