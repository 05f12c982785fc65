package consultant

import (
	"slices"
	"strings"
	"testing"

	"culprit/grid"
)

// hotBeside is a program in which a function that is called much more often than predicted takes time beside others.
func hotBeside(real float64) (m *model, hot grid.Focus) {
	m = newModel(
		activity{stack: deepStack, kind: "cpu", rate: always(0.5)},
		activity{stack: []string{"main", "hot"}, kind: "cpu", rate: always(0.3)},
		activity{stack: []string{"main", "other"}, kind: "cpu", rate: always(0.1)},
	)
	hot = code(grid.Whole(), "hot")
	m.real = func(k grid.PairKey) float64 {
		if k.Focus == hot {
			return real
		}
		return 0.0002
	}
	return m, hot
}

// What takes half of the program's time is stopped at the next look, and nothing else is.
func TestRunawayIsStoppedAtOnce(t *testing.T) {
	m, hot := hotBeside(0.5)
	r := newRig(t, m)
	over, longest := 0.0, 0.0
	for m.now() < 30 {
		before := m.now()
		r.run(before + 0.01)
		if m.ObservedCost() > 0.1 {
			over += m.now() - before
		} else {
			over = 0
		}
		longest = max(longest, over)
	}
	if longest == 0 || longest > 2*tickTime.Seconds()+0.1 {
		r.dump()
		t.Errorf("half of the time was taken for %.2f s", longest)
	}
	if m.tries[grid.PairKey{Metric: "cpu_inclusive", Focus: hot}] > 2 {
		t.Errorf("it was tried %d times in 30 s", m.tries[grid.PairKey{Metric: "cpu_inclusive", Focus: hot}])
	}
	if !slices.ContainsFunc(r.events, func(e Event) bool { return strings.Contains(e.Text, "it took that when it was tried") }) {
		t.Error("it is not said that it was tried")
	}
	if r.node(cpuBound, code(grid.Whole(), "scan")).State != True {
		r.dump()
		t.Error("scan was not found")
	}
}

// Where the cost is over the budget, what takes most is stopped, not what came last.
func TestDearestIsStopped(t *testing.T) {
	m, hot := hotBeside(0.05)
	r := newRig(t, m)
	r.runUntil(20, "a stop for the budget", func() bool {
		for _, e := range r.events {
			if strings.Contains(e.Text, "exceeds the budget") {
				return true
			}
		}
		return false
	})
	for _, n := range r.s.Nodes() {
		if strings.Contains(n.Reason, "cost more than predicted") && n.Focus != hot {
			r.dump()
			t.Errorf("%s was stopped", n.Focus)
		}
	}
	if m.ObservedCost() > 0.02 {
		t.Errorf("it still takes %g", m.ObservedCost())
	}
}
