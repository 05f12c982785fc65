package consultant

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"culprit/consultant/prior"
	"culprit/grid"
	"culprit/pcl"
)

// priorOf is what a search has found, for the next run of the same program.
func priorOf(s *Search, same bool) *prior.Prior {
	p := prior.New(same, func(f grid.Focus) (string, bool) { return f.String(), true })
	for _, n := range s.Nodes() {
		place := prior.Place{Hypothesis: n.Hypothesis, Focus: n.Focus}
		switch {
		case n.ID == 1:
			place.Answer = prior.Held
		case n.State == True || n.State == False:
			place.Answer = prior.Judge(n.State == True, n.Value, n.Threshold, n.Greater, n.Confidence)
		}
		for _, id := range n.Parents {
			place.From = append(place.From, id-1)
		}
		p.Add(place)
	}
	return p
}

// recalled is a search with what an earlier run of a program has found.
func recalled(t *testing.T, m *model, p *prior.Prior) *rig {
	r := newRig(t, m)
	r.s.cfg.Prior, r.s.recalled = p, prior.Seek[*node](p)
	return r
}

// The programs of the tests, and the place that the search is to find.
var recallPrograms = []struct {
	name string
	make func() *model
	hyp  string
	at   grid.Focus
}{
	{"six calls deep", func() *model {
		return newModel(activity{stack: deepStack, kind: "cpu", rate: always(0.9)}, activity{stack: []string{"main", "log"}, kind: "cpu", rate: always(0.05)})
	}, cpuBound, code(grid.Whole(), deepStack[len(deepStack)-1])},
	{"lock of one function", func() *model {
		return newModel(activity{stack: []string{"main", "serve", "lookup"}, kind: "sync", object: []string{"Mutex", "cache_lock"}, rate: always(0.7)})
	}, syncWait, code(grid.Whole().Refine(grid.SyncObject, "Mutex", "cache_lock"), "lookup")},
	{"file of one function", func() *model {
		return newModel(activity{stack: []string{"main", "load"}, kind: "io", object: []string{"File", "/var/data"}, rate: always(0.6)})
	}, ioWait, code(grid.Whole().Refine(grid.IO, "File", "/var/data"), "load")},
	{"callee of ten cool callers", func() *model {
		var acts []activity
		for i := range 10 {
			acts = append(acts, activity{stack: []string{"main", "caller" + strconv.Itoa(i), "step" + strconv.Itoa(i), "hash"}, kind: "cpu", rate: always(0.08)})
		}
		return newModel(acts...)
	}, cpuBound, code(grid.Whole(), "hash")},
}

// With what the run before has found the next one gives the same answer twice as soon. Where one round of tests is enough, the time that a test
// takes at least is left.
func TestRecall(t *testing.T) {
	var gains []float64
	for _, c := range recallPrograms {
		first := newRig(t, c.make())
		found := func(r *rig) func() bool { return func() bool { return r.node(c.hyp, c.at).State == True } }
		without := first.runUntil(40, "found", found(first))
		pairs := len(first.m.enabled)
		first.runUntil(60, "settled", first.s.Settled)
		next := recalled(t, c.make(), priorOf(first.s, true))
		with := next.runUntil(40, "found again", found(next))
		t.Logf("%-28s %.2f s and %d pairs, then %.2f s and %d pairs", c.name, without, pairs, with, len(next.m.enabled))
		if gains = append(gains, without/with); without < 1.4*with {
			t.Errorf("%s: found after %.2f s, without the run before after %.2f s", c.name, with, without)
		}
		next.runUntil(60, "settled", next.s.Settled)
		a, b := first.s.Bottlenecks(), next.s.Bottlenecks()
		if len(a) != len(b) || a[0].Object != b[0].Object || first.s.Nodes()[a[0].Node-1].Focus != next.s.Nodes()[b[0].Node-1].Focus {
			first.dump()
			next.dump()
			t.Errorf("%s: another answer with what the run before has found", c.name)
		}
	}
	slices.Sort(gains)
	if median := (gains[len(gains)/2-1] + gains[len(gains)/2]) / 2; median < 2 {
		t.Errorf("%.1f times sooner, want 2", median)
	}
}

// What was ruled out in a run of the same build is not tested, until stack samples speak for it.
func TestRuledOutBefore(t *testing.T) {
	make := func(small func(float64) float64) *model {
		return newModel(
			activity{stack: []string{"main", "work", "inner"}, kind: "cpu", rate: always(0.5)},
			activity{stack: []string{"main", "other"}, kind: "cpu", rate: small},
		)
	}
	first := newRig(t, make(always(0.05)))
	first.runUntil(60, "settled", first.s.Settled)
	other := code(grid.Whole(), "other")
	if n := first.node(cpuBound, other); n.State != False {
		t.Fatalf("other is %s", n.State)
	}
	blind := make(always(0.05))
	blind.samples = false
	r := recalled(t, blind, priorOf(first.s, true))
	r.runUntil(60, "settled", r.s.Settled)
	if n := r.node(cpuBound, other); n.State != False {
		t.Errorf("without stack samples, which could speak for it, other is %s: %s", n.State, n.Reason)
	}
	for _, same := range []bool{true, false} {
		next := recalled(t, make(func(at float64) float64 {
			if at < 30 {
				return 0.05
			}
			return 0.45
		}), priorOf(first.s, same))
		next.run(29)
		n := next.node(cpuBound, other)
		tested := slices.ContainsFunc(next.m.enabled, func(k grid.PairKey) bool { return k.Focus == other })
		if tested == same || same && (n.State != Never || !strings.Contains(n.Reason, "earlier run")) {
			next.dump()
			t.Errorf("same build %v: other is %s: %s", same, n.State, n.Reason)
		}
		next.runUntil(60, "found what is new", func() bool { return next.node(cpuBound, other).State == True })
	}
}

// A place that held before is not there yet when it is to be measured: it is found when it comes. One that may not be measured is judged from stack samples.
func TestRecallOfWhatCannotBeMeasured(t *testing.T) {
	inner := code(grid.Whole(), "inner")
	program := func() *model {
		return newModel(activity{stack: []string{"main", "work", "inner"}, kind: "cpu", rate: between(4, forever, 0.7)}, activity{stack: []string{"main", "own"}, kind: "cpu", rate: between(0, 4, 0.7)})
	}
	first := newRig(t, program())
	first.run(20)
	if n := first.node(cpuBound, inner); n.State != True {
		t.Fatalf("inner is %s", n.State)
	}
	for name, err := range map[string]error{"not there": &pcl.NoFunction{}, "refused": grid.ErrRefused{Point: "inner", Reason: "jump into its first bytes"}} {
		for _, price := range []bool{true, false} { // it is known by the price, or only when the probes are to be inserted
			m := program()
			fails := func(k grid.PairKey) bool { return k.Focus == inner && (name == "refused" || m.t < 4) }
			m.predict = func(k grid.PairKey) (grid.Price, error) {
				if price && fails(k) {
					return grid.Price{}, err
				}
				return grid.Price{Fraction: 0.0002, Rate: 100, Points: 2}, nil
			}
			m.enableErr = func(k grid.PairKey, _ int) error {
				if fails(k) {
					return err
				}
				return nil
			}
			next := recalled(t, m, priorOf(first.s, true))
			next.runUntil(30, "found", func() bool { return next.node(cpuBound, inner).State == True })
			n := next.node(cpuBound, inner)
			if (n.Refused != "") != (name == "refused") || (n.Tier == grid.TierSample) != (name == "refused") {
				t.Errorf("%s, by the price %v: refused %q, %s", name, price, n.Refused, n.Tier)
			}
		}
	}
}

// What held before and is gone now is not told, and costs no test where stack samples do not see it.
func TestRecallOfAnotherProgram(t *testing.T) {
	first := newRig(t, recallPrograms[0].make())
	first.runUntil(60, "settled", first.s.Settled)
	next := recalled(t, recallPrograms[2].make(), priorOf(first.s, false))
	next.runUntil(60, "settled", next.s.Settled)
	if b := next.only(); b.Object != "/var/data" {
		t.Errorf("bottleneck %+v", b)
	}
	for _, n := range next.s.Nodes() {
		if slices.Contains(deepStack[1:], n.Focus.String()) {
			t.Errorf("%v was tested", n.Focus)
		}
	}
}
