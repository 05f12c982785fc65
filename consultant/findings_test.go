package consultant

import (
	"strings"
	"testing"

	"culprit/consultant/decide"
)

// TestOneThingOnce: a reason that has most of the time of a place is told instead of the place, at its own; one that has little of it comes
// behind it, and is a note where hardly anything is at stake.
func TestOneThingOnce(t *testing.T) {
	for name, c := range map[string]struct {
		within float64 // seconds a second within the small operations
		first  string  // hypothesis
		count  int     // findings
		notes  int
	}{
		"most of it":  {0.7, "SmallOnes", 1, 0},
		"some of it":  {0.15, cpuBound, 2, 0},
		"nearly none": {0.02, cpuBound, 2, 1},
	} {
		m := newModel(
			activity{stack: []string{"main", "log"}, kind: "cpu", rate: always(0.9)},
			activity{stack: []string{"main", "log"}, kind: "io", object: []string{"File", "/count"}, rate: always(c.within)},
		)
		r := newRig(t, m)
		list, parents := shipped()
		list = list[:1] // computing alone: the waiting is no matter here
		sub := &hypothesis{name: "SmallOnes", label: "{function} moves {value} bytes for each operation", why: true, where: true, refine: list[0].refine}
		test := decide.NewTest([]string{"io_ops", "io_bytes", "io_wait_inclusive", "active_threads"}, []string{"active_threads"}, false,
			func(get func(string) float64) float64 { return ratio(get("io_bytes"), get("io_ops")) },
			func(func(string) float64) float64 { return 4096 }).
			Staking(func(get func(string) float64) float64 { return ratio(get("io_wait_inclusive"), get("active_threads")) })
		list, parents = append(list, sub.with(test)), append(parents[:1], cpuBound)
		cells := r.s.cells
		r.s = newSearch(r.s.cfg, list, parents)
		r.s.cells, r.s.cfg.LeastStake = cells, func() float64 { return 0.05 }
		r.runUntil(30, "settled", r.s.Settled)
		found := r.s.Bottlenecks()
		nodes, notes := r.s.Nodes(), 0
		for _, b := range found {
			if b.Note {
				notes++
			}
		}
		if len(found) != c.count || notes != c.notes || nodes[found[0].Node-1].Hypothesis != c.first {
			r.dump()
			t.Errorf("%s: %d findings, %d of them notes, first %q", name, len(found), notes, found[0].Sentence)
		}
		if c.count == 1 && !strings.HasPrefix(found[0].Sentence, "log ") {
			t.Errorf("%s: %s", name, found[0].Sentence)
		}
	}
}
