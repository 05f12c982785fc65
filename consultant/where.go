package consultant

import (
	"fmt"
	"slices"
	"sort"

	"culprit/consultant/explain"
	"culprit/grid"
)

// Bounds of one expansion; what lies beyond is never tested and says so.
const (
	maxChildren    = 64   // tested children of one expansion, the heaviest first
	maxRefinements = 4096 // foci taken from the axis at once
	maxLooks       = 256  // questions to the axis for one expansion by Deep Start
	maxThrough     = 2000 // foci looked at to find a hot callee of cool callers
	throughDepth   = 6    // calls below the children
	coolDepth      = 3    // calls through functions on few stacks before Deep Start gives up
	hotShare       = 0.6  // of the threshold: what stack samples must promise for Deep Start
	blockedTime    = 5.0  // s; a candidate that waits longer for budget or time does not hold up other ways
)

// A candidate is a focus that an expansion reached, with the ones that it was reached from.
type candidate struct {
	focus    grid.Focus
	weight   float64
	callers  []*candidate // none: the expanded node itself
	hot      bool         // Deep Start
	unlikely bool         // stack samples speak against it
	pass     bool         // only on the way to others
	bound    float64      // at most this value, by what its callers have
	cool     int
}

// A job is one step of one node, with what is needed while the lock is not held.
type job struct {
	n                *node
	st               step
	value, threshold float64
	callers          []*candidate // of a step through: the false children
}

// plan decides, when a node is first true, which ways will be walked and in which order: wide for the first node of a
// hypothesis, else first the hierarchy that led there, then the others, then the child hypotheses.
func (s *Search) plan(n *node) {
	hs := n.hyp.refine
	if !n.hyp.where {
		hs = nil
	}
	if n.axis != "where" {
		if n.hyp.why {
			n.ask(step{why: true})
		}
		for _, h := range hs {
			n.ask(step{h: h})
		}
		if slices.Contains(hs, grid.Code) {
			n.plan = []step{{h: grid.Code, through: true}}
		}
		return
	}
	for _, h := range refineOrder(hs, n.via) {
		n.plan = append(n.plan, step{h: h})
		if h == grid.Code {
			n.plan = append(n.plan, step{h: h, through: true})
		}
	}
	if n.hyp.why {
		n.plan = append(n.plan, step{why: true})
	}
}

// refineOrder puts the hierarchy that led here first, then those that name an object, then code, then the rest.
func refineOrder(hs []grid.Hierarchy, via grid.Hierarchy) []grid.Hierarchy {
	rank := func(h grid.Hierarchy) int {
		switch h {
		case via:
			return 0
		case grid.SyncObject, grid.IO, grid.Memory:
			return 1
		case grid.Code:
			return 2
		}
		return 3
	}
	out := slices.Clone(hs)
	sort.SliceStable(out, func(i, j int) bool { return rank(out[i]) < rank(out[j]) })
	return out
}

// advance lets every true node take its next way when the ones before led nowhere. Nodes reached along Code go first,
// so that a lock or a file is looked for below the function that waits before the functions of each lock are. It tells
// whether there is anything to expand.
func (s *Search) advance(now float64) bool {
	asked := false
	for _, alongCode := range []bool{true, false} {
		for _, n := range s.graph.nodes {
			if n.state == True && len(n.plan) > 0 && len(n.asked) == 0 && (n.via == grid.Code) == alongCode {
				s.advanceNode(n, now)
			}
			asked = asked || s.walks(n)
		}
	}
	return asked
}

func (s *Search) advanceNode(n *node, now float64) {
	st := n.plan[0]
	for walked, kids := range n.kids {
		if walked.why || (n.axis != "where" && walked.h != st.h) {
			continue
		}
		if slices.ContainsFunc(kids, func(k *node) bool { return k.state == True || k.busy(now) }) {
			return
		}
	}
	if n.axis == "where" && n.via != grid.Code && (st.why || st.h != n.via) {
		if s.codeBusy(n, now) || s.covered(n) != nil {
			return
		}
	}
	n.plan = n.plan[1:]
	n.ask(st)
}

// busy tells that an answer about the node can be expected soon.
func (n *node) busy(now float64) bool {
	since := max(n.triedAt, n.postponedAt)
	return n.state == Testing || n.state == Queued && (since == 0 || now-since < blockedTime)
}

// codeBusy tells whether the hypothesis is still being followed along Code in the node's phase.
func (s *Search) codeBusy(n *node, now float64) bool {
	return slices.ContainsFunc(n.group.nodes, func(m *node) bool {
		return m != n && m.focus.Depth(grid.Code) > 0 &&
			(m.busy(now) || len(m.asked) > 0)
	})
}

// covered returns a true node of the same hypothesis and phase that says more than n: its focus is a proper part of n's, and it
// is not one thread's part of what several have. nil if there is none.
func (s *Search) covered(n *node) *node {
	for _, m := range n.graph.within[n.nodeKey] {
		if !m.shared() {
			return m
		}
	}
	return nil
}

// expand walks the ways that nodes ask for. The axis is asked without the lock.
func (s *Search) expand() {
	for {
		j, ok := s.nextJob()
		if !ok {
			return
		}
		var list []*candidate
		switch {
		case j.st.why:
		case j.st.through:
			list = s.lookThrough(j)
		default:
			list = s.look(j)
		}
		s.mu.Lock()
		if j.st.why {
			s.growWhy(j.n)
		} else {
			s.grow(j, list)
		}
		s.mu.Unlock()
	}
}

func (s *Search) nextJob() (job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.graph.nodes {
		if !s.walks(n) {
			continue
		}
		j := job{n: n, st: n.asked[0], value: n.est.Value, threshold: n.est.Threshold}
		n.asked = n.asked[1:]
		if j.st.through {
			for _, k := range n.kids[step{h: grid.Code}] {
				if k.state == False && k.decidedAt > 0 {
					j.callers = append(j.callers, &candidate{focus: k.focus, bound: k.est.Value})
				}
			}
		}
		return j, true
	}
	return job{}, false
}

// refinements asks the axis for one step. A process or machine that is the only one is the same as all of them: the
// step goes through it.
func (s *Search) refinements(f grid.Focus, h grid.Hierarchy) []grid.Focus {
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

// look finds the children of a node along one hierarchy, heaviest first, and along Code what Deep Start finds below.
func (s *Search) look(j job) []*candidate {
	n, h := j.n, j.st.h
	var list []*candidate
	for _, f := range n.hyp.along(h, s.refinements(n.focus, h)) {
		list = append(list, &candidate{focus: f, weight: s.cfg.World.Weight(f, n.hyp.kind)})
	}
	sort.SliceStable(list, func(a, b int) bool { return list[a].weight > list[b].weight })
	if h == grid.Code && n.hyp.sampled() {
		list = append(list, s.deepStart(j, list)...)
	}
	return list
}

// promise estimates the value at a focus from the share of stack samples there and at the node that is expanded.
func (j job) promise(weight, ofNode float64) float64 {
	if ofNode <= 0 {
		return 0
	}
	return j.value * weight / ofNode
}

// deepStart follows the call graph below the children as far as stack samples promise a true node (Roth & Miller,
// Euro-Par 2002): the whole chain down to the bottleneck is then tested at once, side by side, instead of level by
// level. It goes through a few functions on few stacks, so that a hot callee of many cool callers is reached too.
func (s *Search) deepStart(j job, list []*candidate) []*candidate {
	base := s.cfg.World.Weight(j.n.focus, j.n.hyp.kind)
	if base <= 0 {
		return nil
	}
	isHot := func(w float64) bool { return j.promise(w, base) >= hotShare*j.threshold }
	byFocus := map[grid.Focus]*candidate{}
	for _, c := range list {
		c.hot = isHot(c.weight)
		c.unlikely = !c.hot
		byFocus[c.focus] = c
	}
	var found []*candidate
	queue := slices.Clone(list)
	for looks := 0; len(queue) > 0 && looks < maxLooks && len(found) < 2*maxChildren; looks++ {
		c := queue[0]
		queue = queue[1:]
		if c.weight <= 0 || suppressed(c.focus, j.n.hyp.suppress) != "" && c.cool >= coolDepth {
			continue
		}
		for _, f := range s.refinements(c.focus, grid.Code) {
			if d := byFocus[f]; d != nil {
				d.callers = appendCaller(d, c)
				continue
			}
			d := &candidate{focus: f, weight: s.cfg.World.Weight(f, j.n.hyp.kind), callers: []*candidate{c}, cool: c.cool + 1}
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

// appendCaller adds a caller unless the candidate is a direct child (its parent is the expanded node) or the call
// closes a circle.
func appendCaller(d, c *candidate) []*candidate {
	if len(d.callers) == 0 || slices.Contains(d.callers, c) || c.reaches(d, 0) {
		return d.callers
	}
	return append(d.callers, c)
}

// reaches tells whether d is among the callers of c, or theirs.
func (c *candidate) reaches(d *candidate, depth int) bool {
	return c == d || depth < 32 && slices.ContainsFunc(c.callers, func(p *candidate) bool { return p.reaches(d, depth+1) })
}

// onTheWay keeps the candidates to be tested and those that lie on the way to them, in the order found.
func onTheWay(found []*candidate) []*candidate {
	keep := map[*candidate]bool{}
	var mark func(c *candidate)
	mark = func(c *candidate) {
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
	return slices.DeleteFunc(slices.Clone(found), func(c *candidate) bool { return !keep[c] })
}

// lookThrough finds hot callees of callers that are cool each by itself. An inclusive value of a function is at most
// the sum of its callers' values; where several callers share a callee and their sum exceeds the threshold, the callee
// is tested although none of the callers holds. Functions are met level by level; a caller that is found on a deeper
// level than its callee does not add to the callee's bound.
func (s *Search) lookThrough(j job) []*candidate {
	if !j.n.hyp.Additive() {
		return nil
	}
	byFocus := map[grid.Focus]*candidate{j.n.focus: {focus: j.n.focus}}
	for _, c := range j.callers {
		byFocus[c.focus] = c
	}
	var found []*candidate
	level := j.callers
	for depth := 0; depth < throughDepth && len(level) > 0; depth++ {
		var next []*candidate
		fresh := map[*candidate]bool{}
		for _, c := range level {
			for _, f := range s.refinements(c.focus, grid.Code) {
				d := byFocus[f]
				if d == nil && len(byFocus) < maxThrough {
					d = &candidate{focus: f, pass: true}
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
		level = s.passOn(j, next)
	}
	return onTheWay(found)
}

// passOn marks those of a level that are to be tested and returns the others, through which the look goes on.
func (s *Search) passOn(j job, level []*candidate) []*candidate {
	base := s.cfg.World.Weight(j.n.focus, j.n.hyp.kind)
	var on []*candidate
	for _, c := range level {
		c.weight = s.cfg.World.Weight(c.focus, j.n.hyp.kind)
		likely := base <= 0 || j.promise(c.weight, base) >= hotShare*j.threshold
		if c.bound > j.threshold && len(c.callers) > 1 && likely {
			c.pass = false
			continue
		}
		on = append(on, c)
	}
	return on
}

// growWhy adds the child hypotheses of a node at its focus.
func (s *Search) growWhy(n *node) {
	st := step{why: true}
	n.kids[st] = nil
	for _, h := range n.hyp.children {
		k := s.graph.add(nodeKey{hyp: h, focus: n.focus, phase: n.phase}, n, "why")
		n.kids[st] = append(n.kids[st], k)
		s.revive(k)
	}
}

// grow adds what an expansion found to the graph.
func (s *Search) grow(j job, list []*candidate) {
	made := map[*candidate]*node{}
	for _, c := range j.callers {
		made[c] = s.graph.index[nodeKey{hyp: j.n.hyp, focus: c.focus, phase: j.n.phase}]
	}
	kids, tested := []*node{}, 0
	for _, c := range list {
		parents := []*node{}
		for _, p := range c.callers {
			if m := made[p]; m != nil {
				parents = append(parents, m)
			}
		}
		if len(c.callers) == 0 {
			parents = []*node{j.n}
		}
		k := s.growOne(j, c, parents, &tested)
		made[c] = k
		if k != nil && (len(c.callers) == 0 || j.st.through && !c.pass) {
			kids = append(kids, k)
		}
	}
	j.n.kids[j.st] = append(j.n.kids[j.st], kids...)
}

// growOne adds one focus below its parents; nil if it is one of their ancestors (recursion) or has none.
func (s *Search) growOne(j job, c *candidate, parents []*node, tested *int) *node {
	key := nodeKey{hyp: j.n.hyp, focus: c.focus, phase: j.n.phase}
	old := s.graph.index[key]
	var k *node
	for _, p := range parents {
		if (old == nil || !old.above(p)) && !(j.st.h == grid.Code && p.within(c.focus)) {
			k = s.graph.add(key, p, "where")
		}
	}
	if k == nil {
		return nil
	}
	if old != nil {
		if !c.pass {
			s.revive(k)
		}
		k.hot = k.hot || c.hot
		k.cool = k.cool && c.unlikely
		return k
	}
	k.via, k.weight, k.hot, k.cool = j.st.h, c.weight, c.hot, c.unlikely
	s.admit(k, c, tested)
	return k
}

// within tells whether the function of a focus is that of the node or of an ancestor, whatever else their foci select: a
// function that calls itself over others explains nothing that its first activation did not.
func (n *node) within(f grid.Focus) bool {
	code, found := f.Elements(grid.Code), false
	n.climb(func(p *node) bool {
		found = found || len(code) > 0 && slices.Equal(p.focus.Elements(grid.Code), code)
		return !found
	})
	return found
}

// admit decides whether a new node is to be tested.
func (s *Search) admit(k *node, c *candidate, tested *int) {
	if p := suppressed(k.focus, k.hyp.suppress); p != "" {
		k.giveUp(fmt.Sprintf("not tested: %s suppresses %s", k.hyp.name, p))
		return
	}
	if w := s.ruledOut(k); w != nil {
		k.skip("not tested: " + partOf(w))
		return
	}
	if c.pass {
		k.skip("not tested itself; the search went on to what it calls")
		return
	}
	if *tested++; *tested > maxChildren {
		k.skip(fmt.Sprintf("not tested: %d others of the same refinement are on more stacks", maxChildren))
	}
}

// ruledOut returns a false node whose focus covers k's, where a part cannot exceed the whole; nil if there is none.
func (s *Search) ruledOut(k *node) *node {
	for _, f := range widenings(k.focus) {
		w := s.graph.index[nodeKey{hyp: k.hyp, focus: f, phase: k.phase}]
		if w != nil && w.state == False && (k.hyp.Additive() || w.est.Nothing) {
			return w
		}
	}
	return nil
}

// partOf is why a part of a false node is not tested.
func partOf(w *node) string {
	if w.est.Nothing {
		return fmt.Sprintf("too little happens in %s, which it is a part of (node %d)", explain.Focus(w.focus), w.id)
	}
	return fmt.Sprintf("a part of %s, which is below the threshold (node %d)", explain.Focus(w.focus), w.id)
}

// revive queues a node again whose test was only needless so far.
func (s *Search) revive(k *node) {
	if k.state == Never && k.needless && s.ruledOut(k) == nil {
		k.revive()
	}
}
