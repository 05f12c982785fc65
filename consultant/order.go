package consultant

import (
	"cmp"
	"slices"

	"culprit/consultant/explain"
	"culprit/grid"
)

// The order of the candidates: nodes that wait to be tested.

// priceBatch is how many nodes are priced at once; a batch takes about 100 ms.
const priceBatch = 32

// candidates lists what could be started now, the most promising first. Some are behind others: none while CPUs are busy, where no time may be left later.
func (s *Search) candidates(now float64) []*node {
	var list []*node
	for _, n := range s.graph.nodes {
		if n.state == Queued || n.state == Deferred && n.recheckAt <= now {
			n.wait.Behind = !s.budget.Busy() && !n.isPromising() && n.IsBehind(n.group.isHot(now), n.wait.Postponed(now))
			list = append(list, n)
		}
	}
	gain := func(n *node) float64 { return n.Gain(n.cost, n.wait.Wanted(now)) }
	slices.SortFunc(list, func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.phase.index, b.phase.index), cmp.Compare(gain(b), gain(a)), cmp.Compare(a.id, b.id))
	})
	return list
}

func (n *node) rank() int { return n.Rank(n.axis == "why", n.persistent()) }

// isKept tells that the node can be tested without any probe.
func (n *node) isKept() bool { return n.hyp.Kept && n.focus.IsWhole() }

// priceQueue asks for the prices of the first candidates (of some) that have none, and tells whether there were any. It takes the lock itself.
func (s *Search) priceQueue(now float64, only func(*node) bool) (asked bool) {
	s.mu.Lock()
	keys := s.unpriced(now, only)
	s.mu.Unlock()
	if len(keys) == 0 {
		return false
	}
	s.beat.Acted(now)
	prices, errs := s.cells.Price(keys)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range keys {
		var price grid.Price
		var err error
		if i < len(prices) {
			price = prices[i]
		}
		if i < len(errs) {
			err = errs[i]
		}
		s.budget.SetPrice(k, price, err, now)
	}
	return true
}

// unpriced lists the pairs without a recent price of the first candidates, each once.
func (s *Search) unpriced(now float64, only func(*node) bool) []grid.PairKey {
	var keys []grid.PairKey
	seen := map[grid.PairKey]bool{}
	nodes := 0
	for _, n := range s.candidates(now) {
		if s.postponed(n) != "" || only != nil && !only(n) {
			continue
		}
		before := len(keys)
		for _, k := range n.pairs {
			if !seen[k] && s.budget.NeedsPrice(k, now) {
				seen[k] = true
				keys = append(keys, k)
			}
		}
		if len(keys) > before {
			nodes++
		}
		if nodes == priceBatch {
			break
		}
	}
	return keys
}

// wider lists the nodes whose focus covers that of n properly; the one at the whole program is not meant.
func (s *Search) wider(n *node) []*node {
	var list []*node
	for _, f := range n.wide {
		if w := s.graph.index[nodeKey{hyp: n.hyp, focus: f, phase: n.phase}]; w != nil {
			list = append(list, w)
		}
	}
	return list
}

// isPart tells that the test of a node is needless if a wider one is false. By hand everything is tested.
func (n *node) isPart() bool {
	return !n.Wanted() && (n.hyp.Additive() || !n.hyp.Greater)
}

// needless says why the test of a candidate is needless now; "" if it is not.
func (s *Search) needless(n *node) string {
	if n.explained() {
		return "not tested: another callee explains nearly all of its caller"
	}
	if n.isPart() {
		if w := s.ruledOut(n); w != nil {
			return "not tested: " + explain.PartOf(w.id, w.focus, w.est.Nothing)
		}
	}
	return ""
}

// explained tells that each of the true parents along Code has another true child with more than 90 % of its value, so
// that there is not enough left for this node.
func (n *node) explained() bool {
	if n.via != grid.Code || n.axis != "where" || n.Wanted() || n.Hot || !n.hyp.Additive() {
		return false
	}
	parents := n.trueParents()
	for _, p := range parents {
		kids := p.kids[step{h: grid.Code}]
		enough := false
		for _, k := range kids {
			left := p.est.Value - k.est.Value
			enough = enough || k != n && k.state == True && k.est.Value > 0.9*p.est.Value && left < k.est.Threshold
		}
		if !enough {
			return false
		}
	}
	return len(parents) > 0
}
