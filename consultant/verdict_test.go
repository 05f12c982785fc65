package consultant

import (
	"strconv"
	"testing"

	"culprit/consultant/decide"
	"culprit/consultant/hypotheses"
)

// What is no share of time comes behind the place that accounts for the time: a program that computes in one function, and writes a few bytes
// at a time in another, is slow for the first. Where no other place accounts for the time it counts as all of it.
func TestPlacesComeBeforeQuantities(t *testing.T) {
	for name, c := range map[string]struct {
		acts   []activity
		lo, hi float64 // severity of the quantity
	}{
		"computes and writes": {[]activity{
			{stack: []string{"main", "match"}, kind: "cpu", rate: always(0.8)},
			{stack: []string{"main", "log"}, kind: "cpu", rate: always(0.1)},
			{stack: []string{"main", "log"}, kind: "io", object: []string{"File", "/count"}, rate: always(0.05)},
		}, 0.05, 0.3},
		"many places": {append(spread(40, 0.9), activity{stack: []string{"main", "log"}, kind: "io", object: []string{"File", "/count"}, rate: always(0.05)}), 0.8, 1},
	} {
		m := newModel(c.acts...)
		r := newRig(t, m)
		list, parents := shipped()
		sub := &hypothesis{
			Name: "SmallOnes", Label: "{function} moves {value} bytes for each operation", Why: true, Where: true,
		}
		list, parents = append(list, sub.With(decide.NewTest([]string{"io_ops", "io_bytes"}, nil, false,
			func(get func(string) float64) float64 { return ratio(get("io_bytes"), get("io_ops")) },
			func(func(string) float64) float64 { return 4096 }))), append(parents, cpuBound)
		cells := r.s.cells
		r.s = newSearch(r.s.cfg, list, parents)
		r.s.readFrom(cells)
		r.runUntil(30, "settled", r.s.Settled)
		severity := map[string]float64{}
		for _, b := range r.s.Bottlenecks() {
			for _, n := range r.s.Nodes() {
				if n.ID == b.Node {
					severity[n.Hypothesis] = max(severity[n.Hypothesis], b.Severity)
				}
			}
		}
		if v := severity["SmallOnes"]; v < c.lo || v > c.hi || severity[cpuBound] < 0.75 {
			r.dump()
			t.Errorf("%s: %v, want %v to %v for the quantity", name, severity, c.lo, c.hi)
		}
	}
}

// spread is so much processor time in n functions, none of which has much.
func spread(n int, all float64) (acts []activity) {
	for i := range n {
		acts = append(acts, activity{stack: []string{"main", "f" + strconv.Itoa(i)}, kind: "cpu", rate: always(all / float64(n))})
	}
	return acts
}

// TestRefuted: what stands on a false node alone has lost its premise; what has another way to the root, or was asked for, has not.
func TestRefuted(t *testing.T) {
	hyps := map[string]*hypothesis{}
	in := func(name string, state State, parents ...*node) *node {
		if hyps[name] == nil {
			hyps[name] = &hypothesis{Name: name}
		}
		return &node{nodeKey: nodeKey{hyp: hyps[name]}, place: place{parents: parents}, status: status{state: state}}
	}
	root := &node{nodeKey: nodeKey{hyp: hypotheses.Top()}, status: status{state: True}}
	over, holds, again := in("CPUbound", False, root), in("Waits", True, root), in("CPUbound", Testing, root)
	byHand := in("System", True, over)
	byHand.ByHand = true
	for name, c := range map[string]struct {
		n    *node
		want *node
	}{
		"a false parent":    {in("System", True, over), over},
		"further up":        {in("Calls", True, in("System", True, over)), over},
		"another way":       {in("System", True, over, holds), nil},
		"tested once again": {in("System", True, again), nil},
		"asked for":         {byHand, nil},
		"its own":           {in("Waits", True, in("Waits", False, holds)), nil},
	} {
		if got := c.n.refutedBy(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
