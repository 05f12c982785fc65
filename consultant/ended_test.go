package consultant

import (
	"math"
	"strings"
	"testing"

	"culprit/grid"
)

// changing is a program that scans until a time, and sorts from then on.
func changing(at float64) *model {
	sorting := []string{"main", "serve", "sort"}
	return newModel(activity{stack: deepStack, kind: "cpu", rate: between(0, at, 0.8)}, activity{stack: sorting, kind: "cpu", rate: between(at, math.Inf(1), 0.7)})
}

// What was found and is over is kept, with its interval and the value that it had.
func TestEarlier(t *testing.T) {
	const change = 30.0
	r := newRig(t, changing(change))
	r.runUntil(10, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "scan")).State == True })
	r.run(change)
	if list := r.s.Earlier(); len(list) != 0 {
		t.Errorf("something is over before the change: %+v", list)
	}
	at := r.runUntil(change+20, "the other one found", func() bool { return r.node(cpuBound, code(grid.Whole(), "sort")).State == True })
	r.run(at + 10)
	if b := r.only(); !strings.Contains(b.Sentence, "sort") {
		t.Errorf("bottleneck %s", b.Sentence)
	}
	list := r.s.Earlier()
	if len(list) != 1 {
		t.Fatalf("%d are over: %+v", len(list), list)
	}
	a := list[0]
	if a.From > 3 || math.Abs(a.To-change) > 0.5 || a.Times != 1 || math.Abs(a.Severity-0.8) > 0.05 || a.Why != cpuBound {
		t.Errorf("%+v", a)
	}
	for _, want := range []string{"scan uses ", "From 0.2 s, last seen at 30", "% sure"} {
		if !strings.Contains(a.Sentence, want) {
			t.Errorf("%q is not in: %s", want, a.Sentence)
		}
	}
	t.Log(a.Sentence)
}

// What comes and goes is told once, and not while it holds.
func TestEarlierComesAndGoes(t *testing.T) {
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: func(at float64) float64 {
		if int(at/20)%2 == 0 {
			return 0.8
		}
		return 0.02
	}})
	r := newRig(t, m)
	for at := 39.0; at < 130; at += 40 {
		r.run(at - 20)
		if list := r.s.Earlier(); len(list) != 0 {
			t.Errorf("at %g s it holds, and is told as earlier: %+v", at-20, list)
		}
		r.run(at)
		if list := r.s.Earlier(); len(list) != 1 || list[0].Times != int(at/40)+1 || list[0].From > 3 || math.Abs(list[0].To-(at-19)) > 1 {
			t.Errorf("at %g s: %+v", at, list)
		}
	}
}

// A function that is tested late is not said to hold since its caller does: something else may have run before.
func TestBeginsNoEarlierThanKnown(t *testing.T) {
	const change = 30.0
	r := newRig(t, changing(change), func(w *world) { w.spare = func() float64 { return -5 } }) // what samples speak against is not tested
	sorts := func() Node { return r.node(cpuBound, code(grid.Whole(), "sort")) }
	r.run(change)
	if n := sorts(); n.Samples > 0 {
		t.Fatalf("sort was tested before it ran: %+v", n)
	}
	r.runUntil(change+40, "found", func() bool { return sorts().State == True })
	if n := sorts(); n.Since < change-0.5 {
		t.Errorf("it is said to hold since %g s, and began at %g s", n.Since, change)
	}
	if n := r.node(cpuBound, code(grid.Whole(), "scan")); n.Since > 3 {
		t.Errorf("what was tested at once is said to hold since %g s", n.Since)
	}
}

// What is over is told once: not again as a finding of the phase in which it ended.
func TestEarlierOfThePhase(t *testing.T) {
	r := newRig(t, changing(30))
	r.run(10)
	if _, err := r.g.StartPhase("load"); err != nil {
		t.Fatal(err)
	}
	r.s.StartPhase("load")
	inLoad := func() (found bool) {
		for _, b := range r.s.Bottlenecks() {
			found = found || b.Phase.Name == "load" && strings.Contains(b.Sentence, "scan")
		}
		return found
	}
	r.runUntil(25, "found in the phase", inLoad)
	r.run(60)
	if list := r.s.Earlier(); len(list) != 1 || strings.Contains(list[0].Sentence, "phase") || inLoad() {
		t.Errorf("over: %+v; still told in the phase: %t", list, inLoad())
	}
}

// TestPartsEndWithTheWhole: what is not watched, since CPUs are busy, does not stay an answer when the whole program has less than it.
func TestPartsEndWithTheWhole(t *testing.T) {
	m := newModel(activity{stack: []string{"main", "parse"}, kind: "cpu", rate: between(0, 14, 0.95)})
	r := newRig(t, m, func(w *world) { w.spare = func() float64 { return -5 } })
	parse := func() Node { return r.node(cpuBound, code(grid.Whole(), "parse")) }
	r.runUntil(12, "unwatched", func() bool { return parse().State == True && parse().Reason == suspended && !m.on("parse") })
	r.runUntil(20, "CPUbound is false", func() bool { return r.node(cpuBound, grid.Whole()).State == False })
	if n := parse(); n.State != False || len(r.s.Bottlenecks()) != 0 {
		t.Errorf("it is %s; told: %v", n.State, r.s.Bottlenecks())
	}
	if early := r.s.Earlier(); len(early) != 1 || !strings.HasPrefix(early[0].Sentence, "parse uses 9") {
		t.Errorf("earlier: %+v", early)
	}
}

// TestEarlierKeepsItsObject: a lock that was told with the function that waits for it, and is a node of its own, is told of what is over, too.
func TestEarlierKeepsItsObject(t *testing.T) {
	m := newModel(activity{stack: []string{"main", "lookup"}, kind: "sync", object: []string{"Mutex", "cache_lock"}, rate: between(0, 20, 0.8)})
	m.enableErr = func(k grid.PairKey, _ int) error {
		if k.Focus.Depth(grid.Code) > 0 && k.Focus.Depth(grid.SyncObject) > 0 {
			return grid.ErrRefused{Point: "lookup", Reason: "a test"}
		}
		return nil
	}
	r := newRig(t, m)
	r.run(19)
	if b := r.only(); !strings.Contains(b.Sentence, "for mutex cache_lock in lookup") {
		t.Fatalf("it is told as %s", b.Sentence)
	}
	r.run(40)
	if list := r.s.Earlier(); len(list) != 1 || !strings.Contains(list[0].Sentence, "for mutex cache_lock in lookup") {
		t.Errorf("over: %+v", list)
	}
}
