package consultant

import (
	"fmt"
	"slices"

	"culprit/consultant/explain"
	"culprit/consultant/foci"
	"culprit/consultant/later"
	"culprit/consultant/links"
	"culprit/consultant/prior"
	"culprit/consultant/refine"
	"culprit/grid"
)

// Growth of the graph: what an expansion found becomes nodes.

// maxChildren is how many children of one expansion are tested, the heaviest first. The others say that they are not.
const maxChildren = 64

// growWhy adds the child hypotheses of a node at its focus, but those that are not told there: they are tested at who calls it.
func (s *Search) growWhy(n *node) {
	st := step{why: true}
	n.kids[st] = nil
	for _, h := range n.hyp.Children {
		if !h.BelongsAt(n.focus) || foci.Suppressed(n.focus, h.Suppress) != "" {
			continue
		}
		k := s.graph.add(nodeKey{hyp: h, focus: n.focus, phase: n.phase}, n, "why")
		n.kids[st] = append(n.kids[st], k)
		s.revive(k)
	}
}

// grow adds what an expansion found to the graph.
func (s *Search) grow(e *expansion, list []*refine.Found) {
	made := map[*refine.Found]*node{}
	for _, c := range e.callers {
		made[c] = s.graph.index[nodeKey{hyp: e.n.hyp, focus: c.Focus, phase: e.n.phase}]
	}
	kids, tested := []*node{}, 0
	e.sampled = slices.ContainsFunc(list, func(c *refine.Found) bool { return c.Weight > 0 })
	for _, c := range list {
		parents := []*node{}
		for _, p := range c.Callers {
			if m := made[p]; m != nil {
				parents = append(parents, m)
			}
		}
		if len(c.Callers) == 0 {
			parents = []*node{e.n}
		}
		k := s.growOne(e, c, parents, &tested)
		made[c] = k
		if k != nil && (len(c.Callers) == 0 || e.st.through && !c.Pass) {
			kids = append(kids, k)
		}
	}
	e.n.kids[e.st] = append(e.n.kids[e.st], kids...)
	if e.n.looks == nil {
		e.n.looks = map[step]*later.Way{}
	}
	if !e.st.through && e.n.looks[e.st] == nil {
		e.n.looks[e.st] = &later.Way{At: s.cfg.now()}
	}
}

// growOne adds one focus below its parents; nil if it is one of their ancestors (recursion) or has none.
func (s *Search) growOne(e *expansion, c *refine.Found, parents []*node, tested *int) *node {
	key := nodeKey{hyp: e.n.hyp, focus: c.Focus, phase: e.n.phase}
	old := s.graph.index[key]
	if old == nil && !s.mayAdd(e.n, 0, 0) {
		return nil
	}
	var k *node
	for _, p := range parents {
		if old != nil && old != p && old.above(p) {
			p.back = links.Insert(p.back, old, (*node).number)
		}
		if (old == nil || !old.above(p)) && !(e.st.h == grid.Code && e.within(p)[foci.Function(c.Focus)]) {
			k = s.graph.add(key, p, "where")
		}
	}
	if k == nil {
		return nil
	}
	if old != nil {
		if !c.Pass {
			s.revive(k)
		}
		k.Hot, k.Cool, k.Weight = k.Hot || c.Hot, k.Cool && c.Unlikely, max(k.Weight, c.Weight)
		return k
	}
	k.Weight, k.Hot, k.Cool = c.Weight, c.Hot, c.Unlikely
	if s.before(k) == prior.Held {
		k.Held, k.Hot, k.Cool = true, true, false
	}
	if k.appeared = max(e.last, e.n.appeared); c.Hot {
		k.appeared = max(e.looked, e.n.appeared)
	}
	s.admit(k, c, e.sampled, tested)
	return k
}

// within are the functions of a node and of its ancestors, whatever else their foci select: a function that calls itself over others explains nothing that
// its first activation did not.
func (e *expansion) within(n *node) map[grid.Focus]bool {
	if e.functions[n] == nil {
		if e.functions == nil {
			e.functions = map[*node]map[grid.Focus]bool{}
		}
		found := map[grid.Focus]bool{}
		n.climb(func(p *node) bool { found[foci.Function(p.focus)] = true; return true })
		delete(found, grid.Whole())
		e.functions[n] = found
	}
	return e.functions[n]
}

// admit decides whether a new node is to be tested. sampled says that stack samples tell it from others.
func (s *Search) admit(k *node, c *refine.Found, sampled bool, tested *int) {
	if p := foci.Suppressed(k.focus, k.hyp.Suppress); p != "" {
		k.giveUp(fmt.Sprintf("not tested: %s suppresses %s", k.hyp.Name, p))
		return
	}
	if w := s.ruledOut(k); w != nil {
		k.skip("not tested: " + explain.PartOf(w.id, w.focus, w.est.Nothing))
		return
	}
	if c.Pass {
		k.skip("not tested itself; the search went on to what it calls")
		return
	}
	if k.Left = sampled && s.isLeft(k); k.Left {
		k.skip("not tested: an earlier run of the same build has ruled it out, and stack samples do not speak for it")
		return
	}
	if *tested++; *tested > maxChildren {
		k.Beyond = true
		k.skip(fmt.Sprintf("not tested: %d others of the same refinement are on more stacks", maxChildren))
	}
}

// ruledOut returns a false node whose focus covers k's, where a part cannot exceed the whole; nil if there is none.
func (s *Search) ruledOut(k *node) *node {
	for _, w := range s.wider(k) {
		if w.state == False && (k.hyp.Additive() || w.est.Nothing) {
			return w
		}
	}
	return nil
}

// revive queues a node again whose test was only needless so far.
func (s *Search) revive(k *node) {
	if k.state == Never && k.needless && !k.Beyond && !k.Left && s.ruledOut(k) == nil {
		k.revive()
	}
}
