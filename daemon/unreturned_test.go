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
	metric ticks { name "ticks"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; constraint inside; constraint loopInclusive;
		base is counter { append preInsn $function("` + tick + `").entry constrained (* ticks++; *) } }
`
	for _, fn := range functions {
		if strings.Contains(fn, "/") {
			continue // a loop
		}
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
		{"unreturned.cc", "/Code/unreturned.cc/", map[string]leftCall{"thrower": {5, 5 * 2}, "through": {1, 3 + 2}, "jumped": {1, 7 + 5}, "jumper": {1, 5},
			"trapped": {1, 11}, "catcher": {1, 2 + 13}, "again": {1, 3*17 + 19}, "guarded": {1, 2 + 23}, "loops": {2, 3*29 + 2 + 2*29},
			"loops/loop_1": {2, 3*29 + 2 + 2*29}, "quits": {0.1, 0.1 * 31}, "sleeps": {0.1, 0.1 * 37}, "other": {7.2, 7.2 * 1000}}},
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
		keys = append(keys, key(t, "ticks", module+fn))
		if strings.Contains(fn, "/") {
			keys = append(keys, key(t, "exec_time_inclusive", module+fn))
		} else {
			keys = append(keys, key(t, "wall_"+fn, "/"), key(t, "process_"+fn, "/"))
		}
	}
	d.mustEnable(t, &s, keys...)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	rounds := float64(p.Counts()["rounds"])
	for fn, of := range functions {
		if got := s.sums.of(key(t, "ticks", module+fn)); math.Abs(got-rounds*of.ticks) > 1e-6 {
			t.Errorf("%s calls tick %v times, want %v", fn, got, rounds*of.ticks)
		}
		took, ok := p.Counts()[fn]
		itself := float64(took) / 1e9
		if strings.Contains(fn, "/") {
			if got := s.sums.of(key(t, "exec_time_inclusive", module+fn)); got < 0.85*itself || got > 1.05*itself {
				t.Errorf("%s took %v s, the program says %v", fn, got, itself)
			}
			continue
		}
		wall, cpu := s.sums.of(key(t, "wall_"+fn, "/")), s.sums.of(key(t, "process_"+fn, "/"))
		calls := s.distribution(key(t, "wall_"+fn, "/")).Count()
		t.Logf("%-8s %.4f s, %.4f s of them running; the program says %.4f s; %d calls", fn, wall, cpu, itself, calls)
		// The program may lose the processor between its clock and the call.
		if ok && (wall < 0.85*itself || wall > 1.05*itself+20e-6*float64(calls)) || cpu > wall*1.02 || cpu < wall/50 {
			t.Errorf("%s took %v s, %v of them running, the program says %v", fn, wall, cpu, itself)
		}
		if math.Abs(float64(calls)-rounds*of.calls) > 1e-6 {
			t.Errorf("%d calls of %s in %v rounds", calls, fn, rounds)
		}
	}
	detachClean(t, d, p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}
