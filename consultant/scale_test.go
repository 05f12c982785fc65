package consultant

import (
	"fmt"
	"math"
	"testing"

	"culprit/consultant/decide"
	"culprit/grid"
)

// still is a grid of which nothing new comes, and that does at once what is asked.
type still struct{}

func (*still) Enable(keys ...grid.PairKey) []grid.EnableResult {
	out := make([]grid.EnableResult, len(keys))
	for i, k := range keys {
		out[i] = grid.EnableResult{Key: k, Tier: grid.TierProbe}
	}
	return out
}
func (*still) Disable(...grid.PairKey) {}
func (*still) Price(keys []grid.PairKey) ([]grid.Price, []error) {
	prices := make([]grid.Price, len(keys))
	for i := range prices {
		prices[i] = grid.Price{Fraction: 0.001, Rate: 100, Points: 2}
	}
	return prices, make([]error, len(keys))
}
func (*still) Pair(grid.PairKey) (grid.Snapshot, bool)         { return grid.Snapshot{}, false }
func (*still) Intervals(grid.PairKey, float64) []grid.Interval { return nil }
func (*still) ObservedCost() float64                           { return 0.015 }
func (*still) Costs() map[grid.PairKey]float64                 { return nil }
func (*still) News() <-chan struct{} {
	always := make(chan struct{})
	close(always)
	return always
}

// flat is a world in which only the clock goes on.
type flat struct {
	world
	at float64
}

func (f *flat) Now() float64                                      { return f.at }
func (*flat) Refinements(grid.Focus, grid.Hierarchy) []grid.Focus { return nil }
func (*flat) Weight(f grid.Focus, _ string) float64               { return math.Exp2(-float64(f.Depth(grid.Code))) }

const (
	largeNodes = 10000
	largeTrue  = 300
)

// large is a search with 10,000 nodes of which 300 are true: ten chains of thirty functions with locks and threads beside each. Of the others
// some wait, some are too expensive, most are false or were never tested.
func large(tb testing.TB) (*Search, *flat) {
	w := &flat{world: world{model: newModel()}, at: 1000}
	list, parents := shipped()
	s := newSearch(Config{World: w}, list, parents)
	s.readFrom(&still{})
	h, p := list[1], s.phases[0]
	settle := func(n *node, holds bool, value float64) {
		n.begin(1, 100)
		for i := range 20 {
			start := 990 + 0.2*float64(i)
			n.win.Add(decide.Bin{Start: start, End: start + 0.2, Values: []float64{0.2 * value * (1 + 0.01*float64(i%5)), 0.2, 0.4}})
		}
		n.est, n.Weight = n.win.Estimate(h.Test), value
		n.hist.Add(990, value)
		n.everTrue = holds
		n.settle(holds, false, 100)
	}
	add := func(f grid.Focus, parent *node, via grid.Hierarchy) *node {
		n := s.graph.add(nodeKey{hyp: h, focus: f, phase: p}, parent, "where")
		n.via = via
		st := step{h: via}
		parent.kids[st] = append(parent.kids[st], n)
		return n
	}
	top := s.graph.add(nodeKey{hyp: h, focus: grid.Whole(), phase: p}, p.root, "why")
	settle(top, true, 0.9)
	var held []*node
	for chain := range 10 {
		at := top
		for depth := range 29 {
			n := add(code(grid.Whole(), fmt.Sprintf("f%d_%d", chain, depth)), at, grid.Code)
			settle(n, true, 0.85-0.001*float64(depth))
			n.kids[step{h: grid.SyncObject}] = nil
			n.plan = []step{{h: grid.Process}}
			held, at = append(held, n), n
		}
		lock := add(at.focus.Refine(grid.SyncObject, "Mutex", fmt.Sprintf("m%d", chain)), at, grid.SyncObject)
		settle(lock, true, 0.8)
	}
	for i := 0; len(s.graph.nodes) < largeNodes; i++ {
		at := held[i%len(held)]
		var n *node
		if i%3 == 0 {
			n = add(code(grid.Whole(), fmt.Sprintf("g%d", i)), at, grid.Code)
		} else {
			n = add(at.focus.Refine(grid.SyncObject, "Mutex", fmt.Sprintf("n%d", i)), at, grid.SyncObject)
		}
		switch i % 10 {
		case 0, 1:
			n.wait.WantedAt = 900 // waits
		case 2, 3, 4:
			n.skip("not tested: a test")
		case 5:
			n.exceed("too expensive: a test")
		default:
			settle(n, false, 0.01)
		}
	}
	holding := 0
	for _, n := range s.graph.nodes {
		if n.state == True {
			holding++
		}
	}
	if holding < largeTrue {
		tb.Fatalf("%d nodes are true", holding)
	}
	s.updatePairs(true)
	return s, w
}

// BenchmarkTurn is one turn of the search, with what is done only now and then.
func BenchmarkTurn(b *testing.B) {
	s, w := large(b)
	nodes := len(s.graph.nodes)
	b.ReportAllocs()
	for b.Loop() {
		w.at += tickTime.Seconds()
		s.tick()
	}
	if now := len(s.graph.nodes); now > nodes+100 {
		b.Errorf("%d nodes became %d", nodes, now)
	}
}

// BenchmarkSnapshot is what a screen asks for.
func BenchmarkSnapshot(b *testing.B) {
	s, _ := large(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, found := s.Answer(); len(found) == 0 {
			b.Fatal("none")
		}
	}
}

func BenchmarkStatus(b *testing.B) {
	s, _ := large(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Status()
		s.Settled()
	}
}
