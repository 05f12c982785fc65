package consultant

import (
	"math"
	"testing"

	"culprit/consultant/history"
	"culprit/grid"
)

// TestNodesKeepTheirTests: a node that was measured says when, for how long and at what cost, and one that was not says nothing.
func TestNodesKeepTheirTests(t *testing.T) {
	m := newModel(activity{stack: []string{"main", "work", "scan"}, kind: "cpu", rate: always(0.9)})
	m.real = func(grid.PairKey) float64 { return 0.004 }
	r := newRig(t, m)
	r.run(10)
	seen := 0.0
	for _, n := range r.s.Nodes() {
		if n.Samples == 0 {
			if len(n.Tests) > 0 {
				t.Errorf("node %d (%s) was never measured and has the tests %+v", n.ID, n.State, n.Tests)
			}
			continue
		}
		if len(n.Tests) == 0 {
			t.Errorf("node %d (%s at %v) has %d readings and no test", n.ID, n.Hypothesis, n.Focus, n.Samples)
		}
		for _, one := range n.Tests {
			if !(one.Seconds > 0) || one.Begin < 0 || one.Begin+one.Seconds > m.now()+1e-9 || one.Cost < 0 || one.Cost > 1 {
				t.Errorf("node %d: a test %+v at %.1f s", n.ID, one, m.now())
			}
			seen = max(seen, one.Cost)
		}
	}
	n := r.node(cpuBound, code(grid.Whole(), "scan"))
	if mean, off, ok := history.Overall(n.History); !ok || math.Abs(mean-n.Value) > 0.1 || !(n.Error > 0) {
		t.Errorf("scan: value %v, error %v, mean %v, error %v", n.Value, n.Error, mean, off)
	}
	if seen == 0 {
		t.Error("no test has a cost")
	}
}
