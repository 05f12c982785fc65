package daemon

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// leftMetrics are the time of functions, with its distribution, their processor time, and the calls of tick from a focus.
func leftMetrics(tick string, functions []string) string {
	text := `constraint inside /Code/* is counter {
		append preInsn $constraint[0].entry (* inside = 1; *)
		prepend preInsn $constraint[0].return (* inside = 0; *) }
	metric ticks { name "ticks"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; constraint inside;
		base is counter { append preInsn $function("` + tick + `").entry constrained (* ticks++; *) } }
`
	for _, fn := range functions {
		text += timing("wall_"+fn, "wall", fn, "") + strings.Replace(timing("process_"+fn, "process", fn, ""), "histogram(processTimer)", "processTimer", 1)
	}
	return text
}

// A leftCall says of a function how often it is called in a round, calls from itself apart, and how often tick is called from there, what it
// calls included.
type leftCall struct{ calls, ticks float64 }

// TestCallsThatAreLeft: a call that is left by an exception, by longjmp, from a signal handler or by a panic ends there, and what is called
// later from where it was called is not taken for its own.
func TestCallsThatAreLeft(t *testing.T) {
	for _, x := range []struct {
		source, module string
		of             map[string]leftCall
	}{
		{"unreturned.cc", "/Code/unreturned.cc/", map[string]leftCall{"thrower": {3, 3 * 2}, "through": {1, 3 + 2}, "jumped": {1, 7 + 5}, "jumper": {1, 5},
			"trapped": {1, 11}, "catcher": {1, 2 + 13}, "again": {1, 3*17 + 19}, "other": {5, 5 * 1000}}},
		{"unreturned.rs", "/Code/unreturned.rs/unreturned::app::", map[string]leftCall{"thrower": {1, 2}, "through": {1, 5}, "other": {1, 1000}}},
	} {
		t.Run(x.source, func(t *testing.T) {
			callsThatAreLeft(t, testprog.Build(t, "daemon/testdata/"+x.source), x.module, x.of)
		})
	}
}

func callsThatAreLeft(t *testing.T, bin, module string, functions map[string]leftCall) {
	want := undisturbedDone(t, bin)
	p := testprog.StartTarget(t, bin)
	d := attachWith(t, leftMetrics("tick", slices.Collect(maps.Keys(functions))), p.PID)
	var s spreads
	var keys []grid.PairKey
	for fn := range functions {
		keys = append(keys, key(t, "ticks", module+fn), key(t, "wall_"+fn, "/"), key(t, "process_"+fn, "/"))
	}
	d.mustEnable(t, &s, keys...)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	rounds := float64(p.Counts()["rounds"])
	for fn, of := range functions {
		if got := s.sums.of(key(t, "ticks", module+fn)); got != rounds*of.ticks {
			t.Errorf("%s calls tick %v times, want %v", fn, got, rounds*of.ticks)
		}
		took, ok := p.Counts()[fn]
		wall, cpu, itself := s.sums.of(key(t, "wall_"+fn, "/")), s.sums.of(key(t, "process_"+fn, "/")), float64(took)/1e9
		calls := s.distribution(key(t, "wall_"+fn, "/")).Count()
		t.Logf("%-8s %.4f s, %.4f s of them running; the program says %.4f s; %d calls", fn, wall, cpu, itself, calls)
		if ok && math.Abs(wall-itself) > 0.03*itself || cpu > wall*1.02 || cpu < wall/20 {
			t.Errorf("%s took %v s, %v of them running, the program says %v", fn, wall, cpu, itself)
		}
		if float64(calls) != rounds*of.calls {
			t.Errorf("%d calls of %s in %v rounds", calls, fn, rounds)
		}
	}
	detachClean(t, d, p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}
