package consultant

import (
	"math"
	"testing"

	"culprit/grid"
)

// hours is how old the session of a test is when something is looked for.
var hours = []float64{0, 1000, 4000, 7200, 3 * 86400}

// A session of any age finds what a new one does, as soon: histograms are folded, and readings are not.
func TestOldSessionFinds(t *testing.T) {
	var young float64
	for _, age := range hours {
		m := newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)})
		m.t = age
		r := newRig(t, m)
		r.g.Enable(grid.PairKey{Metric: "cpu", Focus: grid.Whole()}) // the grid is as old as the session
		took := r.runUntil(age+30, "found", func() bool { return r.node(cpuBound, code(grid.Whole(), "scan")).State == True }) - age
		if age == 0 {
			young = took
		}
		if took > 1.2*young+0.3 {
			t.Errorf("after %g s it is found in %.1f s, at the beginning in %.1f s", age, took, young)
		}
	}
}

// What changes late is noticed as soon as what changes early, on a busy machine too.
func TestOldSessionNotices(t *testing.T) {
	for _, busy := range []bool{false, true} {
		for _, at := range []float64{45, 840} {
			m := newModel(
				activity{stack: []string{"main", "first"}, kind: "cpu", rate: between(0, at, 0.9)},
				activity{stack: []string{"main", "second"}, kind: "cpu", rate: between(at, 1e9, 0.9)},
			)
			r := newRig(t, m, func(w *world) {
				if busy {
					w.spare = func() float64 { return math.Inf(-1) }
				}
			})
			r.run(at)
			if r.node(cpuBound, code(grid.Whole(), "first")).State != True {
				r.dump()
				t.Fatalf("busy %v: the first was not found", busy)
			}
			took := r.runUntil(at+60, "noticed", func() bool {
				return r.node(cpuBound, code(grid.Whole(), "first")).State != True && r.node(cpuBound, code(grid.Whole(), "second")).State == True
			}) - at
			t.Logf("busy %v: a change at %g s is noticed after %.1f s", busy, at, took)
			if took > 20 {
				t.Errorf("busy %v: a change at %g s is noticed after %.1f s", busy, at, took)
			}
		}
	}
}

// An answer that is not watched on a busy machine is judged again, however old the session is.
func TestOldSessionJudgesAgain(t *testing.T) {
	for _, age := range hours {
		m := newModel(activity{stack: []string{"main", "first"}, kind: "cpu", rate: between(0, age+60, 0.9)})
		m.t = age
		r := newRig(t, m, func(w *world) { w.spare = func() float64 { return math.Inf(-1) } })
		r.run(age + 60)
		r.runUntil(age+150, "judged again", func() bool { return r.node(cpuBound, code(grid.Whole(), "first")).State == False })
	}
}
