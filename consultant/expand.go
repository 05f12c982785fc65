package consultant

import (
	"slices"
	"sort"

	"culprit/consultant/foci"
	"culprit/grid"
)

// Expansions: what is found when a node is refined along one way. The daemon is asked without the lock.

// Bounds of one expansion; what lies beyond is never tested and says so.
const (
	maxRefinements = 4096 // foci taken from the axis at once
	maxLooks       = 256  // questions to the axis for one expansion by Deep Start
	maxThrough     = 2000 // foci looked at to find a hot callee of cool callers
	throughDepth   = 6    // calls below the children
	coolDepth      = 3    // calls through functions on few stacks before Deep Start gives up
	hotShare       = 0.6  // of the threshold: what stack samples must promise for Deep Start
)

// A refinement is a focus that an expansion reached, with the ones that it was reached from.
type refinement struct {
	focus    grid.Focus
	weight   float64
	callers  []*refinement // none: the expanded node itself
	hot      bool          // Deep Start
	unlikely bool          // stack samples speak against it
	pass     bool          // only on the way to others
	bound    float64       // at most this value, by what its callers have
	cool     int
}

// An expansion is one step of one node, with what is needed while the lock is not held.
type expansion struct {
	n                *node
	st               step
	value, threshold float64
	callers          []*refinement // of a step through: the false children
}

// expand walks the ways that nodes ask for. The axis is asked without the lock.
func (s *Search) expand() {
	for {
		e, ok := s.nextExpansion()
		if !ok {
			return
		}
		var list []*refinement
		switch {
		case e.st.why:
		case e.st.through:
			list = s.refineThrough(e)
		default:
			list = s.refine(e)
		}
		s.mu.Lock()
		if e.st.why {
			s.growWhy(e.n)
		} else {
			s.grow(e, list)
		}
		s.mu.Unlock()
	}
}

func (s *Search) nextExpansion() (expansion, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.graph.nodes {
		if !s.canExpand(n) {
			continue
		}
		e := expansion{n: n, st: n.asked[0], value: n.est.Value, threshold: n.est.Threshold}
		n.asked = n.asked[1:]
		if e.st.through {
			for _, k := range n.kids[step{h: grid.Code}] {
				if k.state == False && k.decidedAt > 0 {
					e.callers = append(e.callers, &refinement{focus: k.focus, bound: k.est.Value})
				}
			}
		}
		return e, true
	}
	return expansion{}, false
}

// refineFocus asks the axis for one step. A process or machine that is the only one is the same as all of them: the
// step goes through it.
func (s *Search) refineFocus(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	list := s.cfg.World.Refinements(f, h)
	if h == grid.Process || h == grid.Machine {
		for depth := 0; len(list) == 1 && depth < 4; depth++ {
			list = s.cfg.World.Refinements(list[0], h)
		}
	}
	if len(list) > maxRefinements {
		list = list[:maxRefinements]
	}
	seen := map[grid.Focus]bool{f: true}
	out := make([]grid.Focus, 0, len(list))
	for _, g := range list {
		if !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	return out
}

// refine finds the children of a node along one hierarchy, heaviest first, and along Code what Deep Start finds below.
func (s *Search) refine(e expansion) []*refinement {
	n, h := e.n, e.st.h
	var list []*refinement
	for _, f := range n.hyp.along(h, s.refineFocus(n.focus, h)) {
		list = append(list, &refinement{focus: f, weight: s.cfg.World.Weight(f, n.hyp.samples.Kind)})
	}
	sort.SliceStable(list, func(a, b int) bool { return list[a].weight > list[b].weight })
	if h == grid.Code && n.hyp.sampled() {
		list = append(list, s.deepStart(e, list)...)
	}
	return list
}

// promise estimates the value at a focus from the share of stack samples there and at the node that is expanded.
func (e expansion) promise(weight, ofNode float64) float64 {
	if ofNode <= 0 {
		return 0
	}
	return e.value * weight / ofNode
}

// deepStart follows the call graph below the children as far as stack samples promise a true node (Roth & Miller,
// Euro-Par 2002): the whole chain down to the bottleneck is then tested at once, side by side, instead of level by
// level. It goes through a few functions on few stacks, so that a hot callee of many cool callers is reached too.
func (s *Search) deepStart(e expansion, list []*refinement) []*refinement {
	base := s.cfg.World.Weight(e.n.focus, e.n.hyp.samples.Kind)
	if base <= 0 {
		return nil
	}
	isHot := func(w float64) bool { return e.promise(w, base) >= hotShare*e.threshold }
	byFocus := map[grid.Focus]*refinement{}
	for _, c := range list {
		c.hot = isHot(c.weight)
		c.unlikely = !c.hot && e.n.hyp.Additive() // of a ratio a small part may have a large value
		byFocus[c.focus] = c
	}
	var found []*refinement
	queue := slices.Clone(list)
	for looks := 0; len(queue) > 0 && looks < maxLooks && len(found) < 2*maxChildren; looks++ {
		c := queue[0]
		queue = queue[1:]
		if c.weight <= 0 || foci.Suppressed(c.focus, e.n.hyp.suppress) != "" && c.cool >= coolDepth {
			continue
		}
		for _, f := range s.refineFocus(c.focus, grid.Code) {
			if d := byFocus[f]; d != nil {
				d.callers = appendCaller(d, c)
				continue
			}
			d := &refinement{focus: f, weight: s.cfg.World.Weight(f, e.n.hyp.samples.Kind), callers: []*refinement{c}, cool: c.cool + 1}
			if d.hot = isHot(d.weight); d.hot {
				d.cool = 0
			}
			d.pass = !d.hot
			if d.weight > 0 && d.cool <= coolDepth {
				byFocus[f] = d
				found = append(found, d)
				queue = append(queue, d)
			}
		}
	}
	return onTheWay(found)
}

// appendCaller adds a caller unless the refinement is a direct child (its parent is the expanded node) or the call
// closes a circle.
func appendCaller(d, c *refinement) []*refinement {
	if len(d.callers) == 0 || slices.Contains(d.callers, c) || c.reaches(d, 0) {
		return d.callers
	}
	return append(d.callers, c)
}

// reaches tells whether d is among the callers of c, or theirs.
func (c *refinement) reaches(d *refinement, depth int) bool {
	return c == d || depth < 32 && slices.ContainsFunc(c.callers, func(p *refinement) bool { return p.reaches(d, depth+1) })
}

// onTheWay keeps the refinements to be tested and those that lie on the way to them, in the order found.
func onTheWay(found []*refinement) []*refinement {
	keep := map[*refinement]bool{}
	var mark func(c *refinement)
	mark = func(c *refinement) {
		if keep[c] {
			return
		}
		keep[c] = true
		for _, p := range c.callers {
			mark(p)
		}
	}
	for _, c := range found {
		if !c.pass {
			mark(c)
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(c *refinement) bool { return !keep[c] })
}

// refineThrough finds hot callees of callers that are cool each by itself. An inclusive value of a function is at most
// the sum of its callers' values; where several callers share a callee and their sum exceeds the threshold, the callee
// is tested although none of the callers holds. Functions are met level by level; a caller that is found on a deeper
// level than its callee does not add to the callee's bound.
func (s *Search) refineThrough(e expansion) []*refinement {
	if !e.n.hyp.Additive() {
		return nil
	}
	byFocus := map[grid.Focus]*refinement{e.n.focus: {focus: e.n.focus}}
	for _, c := range e.callers {
		byFocus[c.focus] = c
	}
	var found []*refinement
	level := e.callers
	for depth := 0; depth < throughDepth && len(level) > 0; depth++ {
		var next []*refinement
		fresh := map[*refinement]bool{}
		for _, c := range level {
			for _, f := range s.refineFocus(c.focus, grid.Code) {
				d := byFocus[f]
				if d == nil && len(byFocus) < maxThrough {
					d = &refinement{focus: f, pass: true}
					byFocus[f] = d
					fresh[d] = true
					next = append(next, d)
				}
				if d != nil && fresh[d] {
					d.callers = append(d.callers, c)
					d.bound += c.bound
				}
			}
		}
		found = append(found, next...)
		level = s.passOn(e, next)
	}
	return onTheWay(found)
}

// passOn marks those of a level that are to be tested and returns the others, through which the look goes on.
func (s *Search) passOn(e expansion, level []*refinement) []*refinement {
	base := s.cfg.World.Weight(e.n.focus, e.n.hyp.samples.Kind)
	var on []*refinement
	for _, c := range level {
		c.weight = s.cfg.World.Weight(c.focus, e.n.hyp.samples.Kind)
		likely := base <= 0 || e.promise(c.weight, base) >= hotShare*e.threshold
		if c.bound > e.threshold && len(c.callers) > 1 && likely {
			c.pass = false
			continue
		}
		on = append(on, c)
	}
	return on
}
