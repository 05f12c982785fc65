package consultant

import (
	"fmt"
	"testing"

	"culprit/grid"
)

// A graph of 10,000 nodes: a hundred functions that are true, each with 99 locks below it of which a few are true, and every
// second true node watched.
const benchNodes = 10000

func crowded(b *testing.B) *Search {
	m := newModel()
	list, parents := shipped()
	s := newSearch(Config{World: &world{model: m}}, list, parents)
	s.readFrom(grid.New(m, lookup, m.now))
	h, p := list[1], s.phases[0]
	top := s.graph.add(nodeKey{hyp: h, focus: grid.Whole(), phase: p}, p.root, "why")
	settle := func(n *node, i int, holds bool) {
		n.begin(i, 0)
		n.settle(holds, false, 0)
		if n.est.Value = 0.3; !holds || i%2 == 1 {
			return
		}
		for _, k := range n.pairs {
			s.budget.Enable(k, 0, grid.TierProbe, 0)
		}
	}
	unwatch := func(n *node, i int) {
		if n.watched && i%2 == 1 {
			n.release("a test")
		}
	}
	grow := func(f grid.Focus, parent *node, via grid.Hierarchy, i int, holds bool) *node {
		n := s.graph.add(nodeKey{hyp: h, focus: f, phase: p}, parent, "where")
		n.via = via
		settle(n, i, holds)
		unwatch(n, i)
		return n
	}
	settle(top, 1, true)
	unwatch(top, 1)
	for i := 0; len(s.graph.nodes) < benchNodes; i++ {
		f := code(grid.Whole(), fmt.Sprintf("f%d", i))
		n := grow(f, top, grid.Code, i, true)
		for j := 0; j < 99 && len(s.graph.nodes) < benchNodes; j++ {
			grow(f.Refine(grid.SyncObject, "Mutex", fmt.Sprintf("m%d", j)), n, grid.SyncObject, i+j, j%25 == 24)
		}
	}
	b.ResetTimer()
	return s
}

func BenchmarkDeepest(b *testing.B) {
	s := crowded(b)
	for b.Loop() {
		if len(s.deepest()) == 0 {
			b.Fatal("none")
		}
	}
}

func BenchmarkCovered(b *testing.B) {
	s := crowded(b)
	n := s.graph.nodes[len(s.graph.nodes)-1]
	for b.Loop() {
		n.covered(shares{})
	}
}

func BenchmarkLatest(b *testing.B) {
	s := crowded(b)
	for b.Loop() {
		if list := s.latest(false); len(list) == 0 {
			b.Fatal("none")
		}
	}
}

func BenchmarkUsedBeside(b *testing.B) {
	s := crowded(b)
	n := s.graph.nodes[2]
	for b.Loop() {
		s.graph.usedBeside(n.pairs[0], n)
	}
}

func BenchmarkChanges(b *testing.B) {
	s := crowded(b)
	for b.Loop() {
		s.changes()
	}
}
