package daemon

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/daemon/survey"
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
		{"unreturned.cc", "/Code/unreturned.cc/", map[string]leftCall{"thrower": {6, 6 * 2}, "through": {1, 3 + 2}, "jumped": {1, 7 + 5},
			"trapped": {1, 11}, "catcher": {1, 2 + 13}, "again": {1, 3*17 + 19}, "guarded": {1, 2 + 23}, "loops": {2, 3*29 + 2 + 2*29},
			"catches": {1, 3*29 + 2 + 41}, "catches/loop_1": {1, 3*29 + 2}, "loops/loop_1": {2, 3*29 + 2 + 2*29}, "quits": {0.1, 0.1 * 31}, "sleeps": {0.1, 0.1 * 37}, "leaps/loop_1": {1, 3*43 + 5}, "other": {9.2, 9.2 * 1000}}},
		{"unreturned.rs", "/Code/unreturned.rs/unreturned::app::", map[string]leftCall{"thrower": {1, 2}, "through": {1, 5}, "other": {1, 1000}}},
	} {
		t.Run(x.source, func(t *testing.T) {
			callsThatAreLeft(t, testprog.Build(t, "daemon/testdata/"+x.source), x.module, x.of)
		})
	}
}

// countsOfDone measures pairs in a program from its "go" to its "DONE", and gives what the program has counted itself. It must come to what it comes
// to undisturbed.
func countsOfDone(t *testing.T, bin, metrics string, sink grid.Sink, keys ...grid.PairKey) map[string]uint64 {
	t.Helper()
	want := undisturbedDone(t, bin)
	p := testprog.StartTarget(t, bin)
	d := attachWith(t, metrics, p.PID)
	d.mustEnable(t, sink, keys...)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	detachClean(t, d, p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
	return p.Counts()
}

func callsThatAreLeft(t *testing.T, bin, module string, functions map[string]leftCall) {
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
	counts := countsOfDone(t, bin, leftMetrics("tick", slices.Collect(maps.Keys(functions))), &s, keys...)
	rounds := float64(counts["rounds"])
	for fn, of := range functions {
		if got := s.sums.of(key(t, "ticks", module+fn)); math.Abs(got-rounds*of.ticks) > 1e-6 {
			t.Errorf("%s calls tick %v times, want %v", fn, got, rounds*of.ticks)
		}
		took, ok := counts[fn]
		itself := float64(took) / 1e9
		if strings.Contains(fn, "/") {
			if got := s.sums.of(key(t, "exec_time_inclusive", module+fn)); ok && (got < 0.85*itself || got > 1.05*itself) {
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
}

// TestHiddenHandlers: where the C++ run-time library is in a file without names its handlers cannot be seen, and that is said of what a call
// that is left makes wrong, and of nothing else.
func TestHiddenHandlers(t *testing.T) {
	t.Parallel()
	const said = "handles exceptions where no probe can see it"
	for _, flags := range [][]string{nil, {"-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL", "-rdynamic", "-s"}} {
		p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/unreturned.cc", append([]string{"-O2", "-fno-omit-frame-pointer"}, flags...)...))
		d := attachWith(t, leftMetrics("tick", []string{"thrower", "tick"})+callMetric("calls", "thrower"), p.PID)
		var s sums
		for metric, hidden := range map[string]bool{"wall_thrower": flags != nil, "wall_tick": false, "calls": false} {
			k := key(t, metric, "/")
			d.mustEnable(t, &s, k)
			if note := d.Notes(k); strings.Contains(note, said) != hidden {
				t.Errorf("%v: the note of %s is %q", flags, metric, note)
			}
		}
		detachClean(t, d, p.PID)
		p.Stop(t)
	}
}

// TestOtherStacksAreLeftAlone: a call that waits on another stack goes on, whatever is handled or jumped to meanwhile.
func TestOtherStacksAreLeftAlone(t *testing.T) {
	t.Parallel()
	var s sums
	k := key(t, "ticks", "/Code/stacks_switched.cc/body")
	counts := countsOfDone(t, testprog.Build(t, "daemon/testdata/stacks_switched.cc", "-O2"), leftMetrics("tick", nil), &s, k)
	if got := s.of(k); got != float64(3*counts["rounds"]) || got == 0 {
		t.Errorf("body calls tick %v times in %d rounds", got, counts["rounds"])
	}
}

// TestOwnLongjmp: a function of the program that is called longjmp is no longjmp.
func TestOwnLongjmp(t *testing.T) {
	t.Parallel()
	var s spreads
	k := key(t, "took", "/")
	counts := countsOfDone(t, testprog.Build(t, "daemon/testdata/own_longjmp.c", "-O1", "-fno-builtin", "-static"), timing("took", "wall", "caller", ""), &s, k)
	if got := s.distribution(k).Count(); got != counts["rounds"] || got == 0 {
		t.Errorf("%d calls, the target counts %d", got, counts["rounds"])
	}
}

// TestOwnSetter: a function of the program that is called as the unwinder's is none, even beside an unwinder.
func TestOwnSetter(t *testing.T) {
	t.Parallel()
	var s spreads
	k := key(t, "took", "/")
	counts := countsOfDone(t, testprog.Build(t, "daemon/testdata/own_setter.cc", "-O1", "-static"), timing("took", "wall", "caller", ""), &s, k)
	if got := s.distribution(k).Count(); got != counts["rounds"] || got == 0 {
		t.Errorf("%d calls, the target counts %d", got, counts["rounds"])
	}
}

// TestNothingToCount: where a metric has no code, or none that is ever come to, it is said instead of 0.
func TestNothingToCount(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/unreturned.cc", "-O2", "-fno-omit-frame-pointer"))
	d := attachWith(t, `metric replaced { name "replaced"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter;
		constraint each /Code/* is replace counter { append preInsn $constraint[0].entry (* replaced++; *) } base is void { } }
	metric returns { name "returns"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter;
		base is counter { prepend preInsn $function("quits").return (* returns++; *) } }`, p.PID)
	var s sums
	for metric, want := range map[string]string{"replaced": "which counts nothing", "returns": "no return"} {
		if err := d.Enable([]grid.PairKey{key(t, metric, "/")}, &s)[0].Err; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", metric, err)
		}
	}
	d.mustEnable(t, &s, key(t, "replaced", "/Code/unreturned.cc/quits"), key(t, "exec_time_inclusive", "/Code/unreturned.cc/quits"))
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestThreadsCancelledAnywhere: a program that cancels threads at any instruction and has something to put in order then is not patched.
func TestThreadsCancelledAnywhere(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/cancelled.cc", "-O2"))
	if limits, err := survey.Limits(p.PID); err != nil || len(limits) != 1 || !limits[0].Whole || !strings.HasPrefix(limits[0].Why, "it cancels threads wherever they are (pthread_setcanceltype)") {
		t.Errorf("limits: %v, %v", limits, err)
	}
	if _, err := Attach(context.Background(), Options{Library: library(t), Backend: grid.BackendProbe}, p.PID); err == nil ||
		!strings.Contains(err.Error(), "cancels threads wherever they are (pthread_setcanceltype in cancelled") {
		t.Errorf("with probes: %v", err)
	}
	d, err := Attach(context.Background(), Options{Library: library(t), Backend: grid.BackendAuto, Log: func(s string) { t.Log(s) }}, p.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	if c := p.Counts(); c["lost"] != 0 || c["made"] == 0 {
		t.Errorf("%d of %d destructors did not run", c["lost"], c["made"])
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
