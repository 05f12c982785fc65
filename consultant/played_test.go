package consultant

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl/check"
)

// A player measures a recorded server again, in virtual time: the readings are those of the recording.
type player struct {
	world
	of    *recorded
	at    float64
	sinks map[grid.PairKey]grid.Sink
	given map[grid.PairKey]float64 // up to when values were given, s
	style func(metric string) grid.Style
}

var _ grid.Instrumenter = (*player)(nil)

func (p *player) Now() float64 { return p.at }

// Refinements are the places that were recorded one step below.
func (p *player) Refinements(f grid.Focus, h grid.Hierarchy) (list []grid.Focus) {
	for _, g := range p.of.foci {
		if f.Covers(g) && g != f && (h == grid.Code || g.Depth(h) == f.Depth(h)+1) && g.Depth(h) > f.Depth(h) {
			list = append(list, g)
		}
	}
	return list
}

func (p *player) Weight(f grid.Focus, _ string) float64 { return 1 / float64(1+len(f.String())) }

func (p *player) Price(keys []grid.PairKey) ([]grid.Price, []error) {
	prices := make([]grid.Price, len(keys))
	for i := range prices {
		prices[i] = grid.Price{Fraction: 0.001, Rate: 100, Points: 2}
	}
	return prices, make([]error, len(keys))
}

func (p *player) Enable(keys []grid.PairKey, sink grid.Sink) []grid.EnableResult {
	out := make([]grid.EnableResult, len(keys))
	for i, k := range keys {
		out[i] = grid.EnableResult{Key: k, Tier: grid.TierProbe, Since: p.at}
		if !p.of.has(keys[i : i+1]) {
			out[i].Err = grid.ErrUnsupported{What: k.String(), Needs: "a recording of it"}
			continue
		}
		p.sinks[k], p.given[k] = sink, p.at
	}
	return out
}

func (p *player) Disable(keys []grid.PairKey) {
	for _, k := range keys {
		delete(p.sinks, k)
	}
}

func (p *player) ObservedCost() float64         { return 0.001 * float64(len(p.sinks)) / 2 }
func (*player) Costs() map[grid.PairKey]float64 { return nil }

// advance gives what was read meanwhile, in the order of the times at which it was.
func (p *player) advance(dt float64) {
	p.at += dt
	keys := make([]grid.PairKey, 0, len(p.sinks))
	for k := range p.sinks {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, grid.PairKey.Compare)
	for _, k := range keys {
		for _, v := range p.of.readings[k] {
			if v.Start < p.given[k] || v.End > p.at {
				continue
			}
			value := v.Value
			if p.style(k.Metric) == grid.EventCounter {
				value *= v.End - v.Start
			}
			p.sinks[k].Sample(k, v.Start, v.End, value)
			p.given[k] = v.End
		}
	}
}

// play searches in a recording, and tells all that the search said, and all that it knows at the end.
func play(t *testing.T, of *recorded) string {
	t.Helper()
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &player{world: world{model: newModel()}, of: of, sinks: map[grid.PairKey]grid.Sink{}, given: map[grid.PairKey]float64{}, style: func(metric string) grid.Style {
		m, _ := lib.Metric(metric)
		return m.Style
	}}
	first := of.readings[grid.PairKey{Metric: "cpu", Focus: grid.Whole()}]
	p.at = first[0].Start
	var said strings.Builder
	g := grid.New(p, lib.Metric, p.Now)
	s := New(Config{Hypotheses: lib.Hypotheses(), Grid: g, World: p, OnEvent: func(e Event) { fmt.Fprintln(&said, e) }})
	if s.err != nil {
		t.Fatal(s.err)
	}
	for p.at < first[len(first)-1].End {
		p.advance(0.15)
		s.tick()
	}
	for _, n := range s.Nodes() {
		fmt.Fprintf(&said, "%+v\n", n)
	}
	fmt.Fprintf(&said, "%+v\n%+v\n", s.Bottlenecks(), s.Earlier())
	return said.String()
}

// TestDecisionsAreReplayed: a search in the recorded readings of a server says the same each time, to the last bit: which tests it makes, when each is
// decided, with which value and how sure.
func TestDecisionsAreReplayed(t *testing.T) {
	holds := 0
	for _, r := range recordings(t) {
		want := play(t, r)
		if !strings.Contains(want, " tested false: ") {
			t.Errorf("%s: nothing was decided:\n%s", r.name, want)
		}
		holds += strings.Count(want, " tested true: ")
		a, b := strings.Split(want, "\n"), strings.Split(play(t, r), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("%s: line %d of what it says is\n%s\nand then\n%s", r.name, i+1, a[i], b[i])
			}
		}
		if len(a) != len(b) {
			t.Fatalf("%s: it says %d lines, and then %d", r.name, len(a), len(b))
		}
		t.Logf("%s: %d lines", r.name, strings.Count(want, "\n"))
	}
	if holds < 10 {
		t.Errorf("%d tests were true in all", holds)
	}
}
