package consultant

import (
	"math"
	"strings"
	"testing"

	"culprit/consultant/beat"
	"culprit/consultant/explain"
	"culprit/grid"
)

// on reports whether something is measured at a function.
func (m *model) on(function string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.sinks {
		if explain.FunctionOf(k.Focus) == function {
			return true
		}
	}
	return false
}

// Where processors are busy answers stand without being watched, and are looked at from time to time, more rarely while nothing changes.
func TestSuspended(t *testing.T) {
	spare := -5.0
	stops := 150.0
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: between(0, stops, 0.9)})
	r := newRig(t, m, func(w *world) { w.spare = func() float64 { return spare } })
	scan := func() Node { return r.node(cpuBound, code(grid.Whole(), "scan")) }
	found := r.runUntil(5, "found", func() bool { return scan().State == True })
	slept := r.runUntil(found+watchTime+2, "unwatched", func() bool { return !m.on("scan") })
	if n := scan(); n.State != True || n.Reason != suspended || slept < found+watchTime-0.01 {
		t.Errorf("%s %q, unwatched %.1f s after it was found", n.State, n.Reason, slept-found)
	}
	if says := r.s.Status(); !strings.Contains(says, "re-checked periodically") {
		t.Errorf("status: %s", says)
	}
	spare = 0.1
	woke := r.runUntil(slept+beat.First+2, "watched again", func() bool { return m.on("scan") })
	if says := r.only().Sentence; !strings.Contains(says, "last measured at "+explain.Seconds(scan().History[len(scan().History)-1].At)) {
		t.Errorf("%.1f s after it was measured last: %s", woke-slept, says)
	}
	again := r.runUntil(woke+watchTime+2, "unwatched again", func() bool { return !m.on("scan") })
	if says := r.only().Sentence; strings.Contains(says, "last measured") {
		t.Errorf("it was measured just now: %s", says)
	}
	if woke < slept+beat.First-1 || again < woke+watchTime-0.01 || scan().State != True {
		t.Errorf("unwatched at %.1f, watched at %.1f, unwatched at %.1f s: %s", slept, woke, again, scan().State)
	}
	slept = again
	woke = r.runUntil(slept+2*beat.First+2, "watched again", func() bool { return m.on("scan") })
	if woke < slept+2*beat.First-1 {
		t.Errorf("nothing has changed, and %.1f s later it is watched again", woke-slept)
	}
	slept = r.runUntil(woke+watchTime+2, "unwatched once more", func() bool { return !m.on("scan") })
	spare = -5
	woke = r.runUntil(slept+beat.Most+2, "watched once more", func() bool { return m.on("scan") })
	if woke < slept+beat.Most-1 {
		t.Errorf("there is no time for it, and %.1f s later it is watched again", woke-slept)
	}
	r.runUntil(woke+beat.Most+10, "false", func() bool { return scan().State == False })
	if r.s.idle() {
		t.Error("nothing will be watched again")
	}
}

// Processors may be idle again, and what the user has pinned is watched all the time.
func TestSuspendedNoLongerThanNeeded(t *testing.T) {
	spare := -5.0
	m := newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)})
	r := newRig(t, m, func(w *world) { w.spare = func() float64 { return spare } })
	scan := func() Node { return r.node(cpuBound, code(grid.Whole(), "scan")) }
	slept := r.runUntil(20, "unwatched", func() bool { return scan().Reason == suspended && !m.on("scan") && !m.on("main") })
	spare = math.Inf(1)
	woke := r.runUntil(slept+5, "watched again", func() bool { return m.on("scan") && m.on("main") })
	if err := r.s.Pin(scan().ID, true); err != nil {
		t.Fatal(err)
	}
	spare = -5
	r.run(woke + watchTime + 3)
	if !m.on("scan") || m.on("main") {
		t.Errorf("what is pinned is watched: %v, what is not: %v", m.on("scan"), m.on("main"))
	}
}

// TestBeginsBesideATrueOne: a function that begins to use time beside one that is true is found, although that one explained all that their caller
// had before: whether it was tested by then and false, or not tested since that was needless.
func TestBeginsBesideATrueOne(t *testing.T) {
	const begins = 40.0
	for before, state := range map[float64]State{0.01: Never, 0.1: False} {
		m := newModel(activity{stack: []string{"main", "serve", "parse"}, kind: "cpu", rate: always(0.5)},
			activity{stack: []string{"main", "serve", "report"}, kind: "cpu", rate: always(before)},
			activity{stack: []string{"main", "serve", "report"}, kind: "cpu", rate: between(begins, math.Inf(1), 0.5)})
		r := newRig(t, m)
		report := func() Node { return r.node(cpuBound, code(grid.Whole(), "report")) }
		r.run(begins - 0.1)
		if n := report(); n.State != state {
			t.Fatalf("%.2f: before it begins it is %s, want %s", before, n.State, state)
		}
		at := r.runUntil(begins+20, "found", func() bool { return report().State == True })
		t.Logf("found %.1f s after it began", at-begins)
	}
}
