package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestInlinedToo: of a function that has code of its own and is inlined besides it is said in how many places; without DWARF nothing is known.
func TestInlinedToo(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-g", "-g0"} {
		p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/inlinedtoo.c", "-O2", flag))
		d := attachWith(t, callMetric("twos", "twice")+callMetric("mixes", "both")+callMetric("nevers", "never"), p.PID)
		var s sums
		for metric, want := range map[string]string{
			"twos": "twice is inlined at 2 places: those calls are not counted", "mixes": "both is inlined at 1 place: those calls are not counted", "nevers": "", "cpu": "",
		} {
			if flag == "-g0" {
				want = ""
			}
			k := key(t, metric, "/")
			d.mustEnable(t, &s, k)
			measured := d.Notes(k)
			d.Disable([]grid.PairKey{k})
			if after := d.Notes(k); measured != want || after != want {
				t.Errorf("%s: %q, afterwards %q, want %q", metric, measured, after, want)
			}
		}
		detachClean(t, d, p.PID)
		p.Stop(t)
	}
}

// TestUntyped: what is added or compared without a type that anybody says comes with a word; with DWARF or a cast it does not.
func TestUntyped(t *testing.T) {
	t.Parallel()
	counts := []resultCount{{"gives_int", "m += $return", ""}, {"gives_int", "m += (int)$return", ""}, {"takes", "m += $arg[0]", ""},
		{"takes", "if ($arg[0] == 7) m++", ""}, {"takes", "if ((int)$arg[0] == 7) m++", ""}}
	const argument = "the type of $arg[0] of takes is not known: "
	for flag, want := range map[string][]string{"-g": {"", "", "", "", ""}, "-g0": {"the type of $return of gives_int is not known: ", "", argument, argument, ""}} {
		p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/results.c", "-fno-inline", flag))
		d := attachWith(t, resultMetrics(counts), p.PID)
		var s sums
		for i, w := range want {
			k := key(t, fmt.Sprint("m", i), "/")
			d.mustEnable(t, &s, k)
			if got := d.Notes(k); !strings.HasPrefix(got, w) || w == "" && got != "" {
				t.Errorf("%s at %s with %s: %q, want %q", counts[i].code, counts[i].at, flag, got, w)
			}
		}
		detachClean(t, d, p.PID)
		p.Stop(t)
	}
}

// TestCountersOfRecursion: a counter that keeps something from a function's entry for its return is overwritten by an inner call, and that is said.
// So is code at the return of a function that never returns.
func TestCountersOfRecursion(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/recursion.c", "-O1"))
	text := ""
	for _, f := range []string{"climbs", "once", "leaves"} {
		text += fmt.Sprintf(`metric %[1]s { name "%[1]s"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test."; counter kept;
	base is counter { append preInsn $function("%[1]s").entry (* kept = $arg.n; %[1]s++; *) prepend preInsn $function("%[1]s").return (* %[1]s += kept; *) } }
`, f)
	}
	d := attachWith(t, text, p.PID)
	var s sums
	for f, want := range map[string]string{
		"climbs": "climbs calls itself, which sets kept anew: at its return kept is of the innermost call", "once": "",
		"leaves": "leaves never returns by itself: the code at its return never runs",
	} {
		k := key(t, f, "/")
		d.mustEnable(t, &s, k)
		if got := d.Notes(k); got != want {
			t.Errorf("%s: %q, want %q", f, got, want)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestJumpsAwayAreSaid: a function that goes on in another one that is not followed has its timers end with the jump, and that is said. One that
// is followed, or returns by itself, has no such word.
func TestJumpsAwayAreSaid(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/tails.c", "-O2"))
	d := attachTo(t, p.PID)
	var s sums
	for fn, want := range map[string]string{
		"yields":  "yields leaves by a jump to sched_yield at 1 of its 1 exits: what it does from there on is not in the value",
		"through": "through leaves by a jump to functions that are not known at 1 of its 1 exits: what it does from there on is not in the value",
		"wrap":    "", "only": "", "itself": "", "leaf": "", "main": "",
	} {
		for metric, want := range map[string]string{"exec_time_inclusive": want, "procedure_calls": ""} {
			k := key(t, metric, "/Code/tails.c/"+fn)
			d.mustEnable(t, &s, k)
			if got := d.Notes(k); got != want {
				t.Errorf("%v: %q, want %q", k, got, want)
			}
			d.Disable([]grid.PairKey{k})
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestRefusedWaitsAreNotRuledOut: where a program uses a lock that takes no probe, that nobody was seen waiting does not say that nobody waits. A
// program that has the lock in its C library and does not use it loses nothing.
func TestRefusedWaitsAreNotRuledOut(t *testing.T) {
	for flag, want := range map[string]string{"-DSPIN": "pthread_spin_lock takes no probe: what happens in it is not seen", "-DMUTEX": ""} {
		p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/spin.c", flag))
		p.Say(t, "go")
		d := attachTo(t, p.PID)
		var s sums
		k := key(t, "sync_wait_inclusive", "/")
		d.mustEnable(t, &s, k)
		if got := d.Unseen("sync_wait_inclusive"); got != want || d.Notes(k) != want || d.Unseen("io_wait_inclusive") != "" {
			t.Errorf("%s: %q, %q, want %q", flag, got, d.Notes(k), want)
		}
		if d.common.Refusals.Why("pthread_spin_lock") == "" {
			t.Skip("this C library's pthread_spin_lock takes probes")
		}
		if told := slices.ContainsFunc(d.Probes().Refused, func(r grid.Refusal) bool { return r.Function == "pthread_spin_lock" }); told != (want != "") {
			t.Errorf("%s: that pthread_spin_lock takes no probe is told: %v", flag, told)
		}
		d.Disable([]grid.PairKey{k})
		detachClean(t, d, p.PID)
		p.Stop(t)
	}
}

// TestNotesOfWhatWasNotPlanned: what is said of a pair that has not been measured yet is said of the function, not of what is known of it.
func TestNotesOfWhatWasNotPlanned(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/calls.c"), "1000")
	d := attachTo(t, p.PID)
	for _, metric := range []string{"cpu", "exec_time", "cpu_inclusive"} {
		if note := d.Notes(key(t, metric, "/Code/calls.c/work")); note != "" {
			t.Errorf("%s of a plain function: %q", metric, note)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
