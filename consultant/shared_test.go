package consultant

import (
	"strconv"
	"strings"
	"testing"

	"culprit/grid"
)

// busyServer is a program of many functions under main, and of what the kernel takes to keep what their probes read.
func busyServer(kept float64) *model {
	acts := []activity{{stack: deepStack, kind: "cpu", rate: always(0.5)}}
	for i := range 12 {
		acts = append(acts, activity{stack: []string{"main", "f" + strconv.Itoa(i)}, kind: "cpu", rate: always(0.02)})
	}
	m := newModel(acts...)
	m.predict = func(k grid.PairKey) (grid.Price, error) {
		return grid.Price{Fraction: 0.0005, Shared: kept, Rate: 1e4, Points: 2}, nil
	}
	return m
}

// TestKeptOnce: what is kept for all pairs together is paid for once. So many are measured at a time, and the budget holds.
func TestKeptOnce(t *testing.T) {
	settled := func(m *model) float64 {
		r := newRig(t, m)
		r.runUntil(60, "settled", r.s.Settled)
		if b := r.only(); !strings.Contains(b.Sentence, "scan") || strings.Contains(b.Sentence, "stack samples") {
			r.dump()
			t.Errorf("bottleneck %s", b.Sentence)
		}
		if m.maxCost > 0.02+1e-9 || m.overdone > 0 {
			t.Errorf("observed cost rose to %g, %d batches above the budget of 0.02", m.maxCost, m.overdone)
		}
		return m.now()
	}
	without, with := settled(busyServer(0)), settled(busyServer(0.012))
	t.Logf("settled after %.1f s, and after %.1f s where something is kept", without, with)
	if with > 1.5*without {
		t.Errorf("it took %.1f s instead of %.1f: pairs for which the same is kept wait for one another", with, without)
	}
}

// TestKeptTooDear: where it exceeds the budget no pair is measured that needs it, and stack samples tell.
func TestKeptTooDear(t *testing.T) {
	m := busyServer(0.03)
	r := newRig(t, m)
	r.run(15)
	if b := r.only(); !strings.Contains(b.Sentence, "scan") || !strings.Contains(b.Sentence, "from stack samples") {
		r.dump()
		t.Errorf("bottleneck %s", b.Sentence)
	}
	for _, k := range m.enabled {
		if p, _ := m.predict(k); k.Focus != grid.Whole() && !isLevel(k.Metric) && p.Shared > 0 {
			t.Errorf("%v was enabled", k)
		}
	}
	m = busyServer(0.03)
	m.samples = false
	r = newRig(t, m)
	r.run(10)
	main := r.node(cpuBound, code(grid.Whole(), "main"))
	if main.State != OverBudget || !strings.Contains(main.Reason, "eBPF accounting at context switches alone costs 3.0 %") {
		t.Errorf("without samples main is %s: %s", main.State, main.Reason)
	}
}
