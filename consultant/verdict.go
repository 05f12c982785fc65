package consultant

import (
	"slices"
	"sort"
	"strings"

	"culprit/consultant/explain"
	"culprit/grid"
)

// Bottlenecks returns the deepest true nodes, worst first: those with no true descendant of the same hypothesis, and of
// which no other true node of the hypothesis is a part (a lock for which the threads of one function wait is reported
// with the function, not a second time without it).
func (s *Search) Bottlenecks() []Bottleneck {
	s.mu.Lock()
	deepest, list := s.deepest(), []Bottleneck{}
	for _, n := range deepest {
		list = append(list, Bottleneck{Node: n.id, Chain: n.chain(), Severity: n.severity(deepest), Object: explain.ObjectName(n.focus)})
	}
	nodes := make(map[int]*node, len(deepest))
	for _, n := range deepest {
		nodes[n.id] = n
	}
	s.mu.Unlock()
	for i := range list {
		n := nodes[list[i].Node]
		if explain.FunctionOf(n.focus) != "" {
			list[i].File, list[i].Line = s.cfg.World.Source(n.focus)
		}
		s.mu.Lock()
		found := n.finding(list[i].File, list[i].Line)
		s.mu.Unlock()
		list[i].Sentence = found.Sentence()
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Severity > list[j].Severity })
	return list
}

func (s *Search) deepest() []*node {
	var list []*node
	for _, n := range s.graph.nodes {
		if n.state != True || n.isRoot() || s.covered(n) != nil || n.shared() {
			continue
		}
		deeper := false
		n.descend(func(m *node) bool {
			deeper = deeper || m != n && m.hyp == n.hyp && m.state == True && !m.shared()
			return !deeper
		})
		if !deeper {
			list = append(list, n)
		}
	}
	return list
}

// wholeShare is how much of a node's value one thread must have for the thread to be worth naming.
const wholeShare = 0.9

// shared tells whether the node, or one above it, is the part of a single thread or process in what several have: then the
// node without that part says it better, and once.
func (n *node) shared() bool {
	found := false
	n.climb(func(m *node) bool {
		if m.via == grid.Process && m.focus.Depth(grid.Process) > 0 {
			for _, p := range m.parents {
				found = found || p.hyp == m.hyp && p.state == True && p.focus.Depth(grid.Process) < m.focus.Depth(grid.Process) &&
					!p.isRoot() && m.est.Value < wholeShare*p.est.Value
			}
		}
		return !found
	})
	return found
}

// severity makes nodes comparable. That of a share of time is the share. Another quantity (bytes for each operation) is
// compared by the nearest node above it that is a share of time: it has what is left of that share when the deepest nodes
// that do not lead to it have taken theirs.
func (n *node) severity(deepest []*node) float64 {
	if n.hyp.fraction {
		return n.est.Value
	}
	var of *node
	n.climb(func(p *node) bool {
		if !p.hyp.fraction || p.state != True {
			return true
		}
		if of == nil || p.est.Value > of.est.Value {
			of = p
		}
		return false
	})
	if of == nil {
		return 0
	}
	rest := of.est.Value
	for _, d := range deepest {
		leads := func(p *node) bool { return p.focus == d.focus }
		if d != of && d.hyp == of.hyp && d.isBelow(func(p *node) bool { return p == of }) && !n.isBelow(leads) {
			rest -= d.est.Value
		}
	}
	return max(rest, 0)
}

// isBelow tells whether the search came to the node by such a one, or whether it is one itself.
func (n *node) isBelow(such func(*node) bool) (below bool) {
	n.climb(func(p *node) bool {
		below = below || such(p)
		return !below
	})
	return below
}

// chain is the way from the root to the node: over true parents where there are some, of several over the one with the
// largest value.
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

// finding is what the sentence of the node is written from. file and line are where its function is defined.
func (n *node) finding(file string, line int) explain.Finding {
	f := explain.Finding{
		Evidence: n.evidence(), Hypothesis: n.hyp.name, Label: n.hyp.label, Kind: n.hyp.kind, Focus: n.focus,
		Code: n.codeText(), OfCode: n.choosesCode(), Object: n.objectText(), Within: n.withinItem(), File: file, Line: line, Since: n.sinceAt,
	}
	if n.phase.index > 0 {
		f.Phase = n.phase.Name
	}
	return f
}

// evidence is what the answer of the node rests on.
func (n *node) evidence() explain.Evidence {
	return explain.Evidence{
		Estimate: n.est, Bins: n.bins, Confidence: n.confidence, Fraction: n.hyp.fraction,
		Samples: n.tier == grid.TierSample, Shares: n.byShare(), Holds: n.state == True,
	}
}

// codeText names the code that the node's focus selects, or the item of code. A function that the program's symbols do not
// name gets the nearest named function that it is called from.
func (n *node) codeText() string {
	text := explain.Function(n.focus)
	if item := n.itemText(grid.Code); item != "" {
		return item
	}
	if !nameless(explain.FunctionOf(n.focus)) {
		return text
	}
	for m := n.bestParent(); m != nil; m = m.bestParent() {
		if f := explain.FunctionOf(m.focus); f != "" && !nameless(f) {
			return text + " (below " + explain.Printable(f) + ")"
		}
	}
	return text
}

// nameless tells whether a function is called by its address, as in "[redis-server+0x1613d0]".
func nameless(function string) bool { return strings.HasPrefix(function, "[") }
