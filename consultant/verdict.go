package consultant

import (
	"cmp"
	"slices"

	"culprit/consultant/explain"
	"culprit/consultant/links"
	"culprit/consultant/victims"
	"culprit/grid"
)

// Answer returns what Nodes returns and the bottlenecks, both of one moment. Bottlenecks are the deepest true nodes: those with no true descendant of the same
// hypothesis, and of which no other true node of the hypothesis is a part (a lock for which the threads of one function wait is reported with the function,
// not a second time without it). First comes where most is to be gained, as far as that is sure.
func (s *Search) Answer() ([]Node, []Bottleneck) {
	s.mu.Lock()
	found, list, objects, refuted := s.findings(), []Bottleneck{}, []grid.Focus{}, []*node{}
	found = slices.DeleteFunc(found, func(f finding) bool { return s.isFading(&f) && f.node.past.Told })
	for i := range found {
		n, object := found[i].node, found[i].objectFocus()
		objects, refuted = append(objects, object), append(refuted, n.refutedBy())
		list = append(list, Bottleneck{Node: n.id, Phase: n.phase.Phase, Chain: n.chain(), Severity: found[i].stake, Own: found[i].own, Kind: n.hyp.Samples.About, Why: found[i].why(), Object: explain.ObjectName(object)})
	}
	s.mu.Unlock()
	for i := range list {
		f, b := &found[i], &list[i]
		if explain.FunctionOf(f.node.focus) != "" {
			b.File, b.Line = s.cfg.World.Source(f.node.focus)
		}
		b.Note = b.Severity < s.cfg.LeastStake()
		if b.Phase.End == 0 { // they are those of the last seconds
			b.Holders = s.cfg.World.Holders(objects[i])
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	explainWaits(found, list)
	for i := range list {
		list[i].Sentence = found[i].sentence(list[i].File, list[i].Line, s.stale(found[i].node))
		found[i].node.past.Note = list[i].Note
		if by := refuted[i]; by != nil {
			list[i].Note = true
			list[i].Sentence += explain.Refuted(by.hyp.Name, by.focus)
		}
	}
	slices.SortStableFunc(list, func(a, b Bottleneck) int {
		return cmp.Compare(rank(s.graph.nodes[b.Node-1], b.Severity), rank(s.graph.nodes[a.Node-1], a.Severity))
	})
	return s.nodes(), list
}

// staleAfter is how old a value is at least of which the sentence says when it was measured, in s.
const staleAfter = 5.0

// stale is when a node was measured last, in s, if that is so long ago; 0 else.
func (s *Search) stale(n *node) float64 {
	if at := n.hist.Last(); s.tickedAt-at >= staleAfter && !n.phase.over() {
		return at
	}
	return 0
}

// refutedBy is a false node of another hypothesis that all ways from the root to a node lead over: what the node says may be true, but its premise is
// not, now. nil if there is a way without one, and for what the user asked for. One of its own hypothesis is no premise: a function that cannot be
// seen, since it was called before, may lead to one that can.
func (n *node) refutedBy() (by *node) {
	if n.ByHand {
		return nil
	}
	reached := false
	n.climb(func(p *node) bool {
		if reached = reached || p.isRoot(); !reached && p.hyp != n.hyp && p.state == False {
			by = p
			return false
		}
		return !reached
	})
	if reached {
		return nil
	}
	return by
}

// explainWaits makes notes of the findings whose threads wait for what others tell. What is at stake there is at stake where it is told.
func explainWaits(found []finding, list []Bottleneck) {
	all := make([]victims.Finding, len(list))
	for i, b := range list {
		all[i] = victims.Finding{Node: b.Node, Stake: b.Severity, Phase: b.Phase.Name, Computes: b.Kind == "cpu", Ended: found[i].node.hyp.Samples.Ended, Starves: b.Kind == "ready" && found[i].node.focus.IsWhole(), Note: b.Note, Holders: b.Holders,
			Stands: slices.ContainsFunc(found[i].reasons, func(n *node) bool { return n.hyp.Stands })}
		all[i].Function, all[i].Own = explain.Qualified(found[i].node.focus), explain.Qualified(found[i].node.ownPlace())
	}
	victims.Explain(all)
	for i, f := range all {
		if b := &list[i]; f.By != 0 {
			b.Explained, b.Note = f.By, true
		} else {
			b.Severity, found[i].stake = f.Stake, f.Stake
		}
	}
}

// deepest are the true nodes with no true descendant of the same hypothesis, and of which no other one is a part.
func (s *Search) deepest() []*node {
	known, above := shares{}, map[*hypothesis]map[*node]bool{}
	for _, n := range s.graph.holding {
		if known.shared(n) {
			continue
		}
		if above[n.hyp] == nil {
			above[n.hyp] = map[*node]bool{}
		}
		links.Mark(n, above[n.hyp], up)
	}
	var list []*node
	for _, n := range s.graph.holding {
		if !n.isRoot() && !known.shared(n) && !above[n.hyp][n] && n.covered(known) == nil {
			list = append(list, n)
		}
	}
	return list
}

// wholeShare is how much of a node's value one thread must have for the thread to be worth naming.
const wholeShare = 0.9

// shares is what is known of nodes at one moment: whether they are shared.
type shares map[*node]bool

// shared tells whether the node, or one above it, is the part of a single thread or process in what several have: then the
// node without that part says it better, and once.
func (known shares) shared(n *node) bool {
	is, ok := known[n]
	if !ok {
		is = n.isThreadsPart() || slices.ContainsFunc(n.parents, known.shared)
		known[n] = is
	}
	return is
}

// isThreadsPart tells whether the node itself is such a part.
func (n *node) isThreadsPart() bool {
	if n.via != grid.Process || n.focus.Depth(grid.Process) == 0 {
		return false
	}
	return slices.ContainsFunc(n.parents, func(p *node) bool {
		return p.hyp == n.hyp && p.state == True && p.focus.Depth(grid.Process) < n.focus.Depth(grid.Process) &&
			!p.isRoot() && n.est.Value < wholeShare*p.est.Value
	})
}

// isBelow tells whether the search came to the node by such a one, or whether it is one itself.
func (n *node) isBelow(such func(*node) bool) (below bool) {
	n.climb(func(p *node) bool {
		below = below || such(p)
		return !below
	})
	return below
}

// chain is the way from the root to the node: over true parents where there are some, of several over one that is below
// another, else over the one with the largest value.
func (n *node) chain() []int {
	var ids []int
	for m := n; m != nil; m = m.bestParent() {
		ids = append(ids, m.id)
	}
	slices.Reverse(ids)
	return ids
}

func (n *node) bestParent() *node {
	var best *node
	better := func(p *node) bool {
		switch {
		case best == nil:
			return true
		case (p.state == True) != (best.state == True):
			return p.state == True
		case (p.hyp == n.hyp) != (best.hyp == n.hyp):
			return p.hyp == n.hyp
		case best.above(p) || p.above(best): // what is above has the larger value always, and says less
			return best.above(p)
		}
		return p.hyp == best.hyp && p.est.Value > best.est.Value
	}
	for _, p := range n.parents {
		if better(p) {
			best = p
		}
	}
	return best
}

// codeText names the code that the node's focus selects, or the item of code. A function that says little gets one that says more and calls it.
func (n *node) codeText() string {
	text := explain.Function(n.focus)
	if item := n.itemText(grid.Code); item != "" {
		return item
	}
	if f := n.ownPlace(); f != n.focus {
		text += " (below " + explain.Printable(explain.FunctionOf(f)) + ")"
	}
	return text
}

// ownPlace is the focus of the node, or where its function says little of the program that of the nearest one above it that says more, if there is one.
func (n *node) ownPlace() grid.Focus {
	for m := n; m != nil && explain.FunctionOf(n.focus) != ""; m = m.bestParent() {
		if explain.FunctionOf(m.focus) != "" && !explain.SaysLittle(m.focus) {
			return m.focus
		}
	}
	return n.focus
}
