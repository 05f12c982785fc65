package consultant

import (
	"cmp"
	"fmt"
	"slices"

	"culprit/consultant/foci"
	"culprit/consultant/later"
	"culprit/consultant/refine"
	"culprit/grid"
)

// What appears later: threads, locks, files and callees that are seen only after a true node was refined, and children that were left out and
// become heavy. The ways of true nodes are walked again for them, a few each second.

// mostNodes is how many nodes the graph may have for others to be added.
const mostNodes = 20000

// lookAgain walks ways again that are due. It takes the lock itself; the axis is asked without it.
func (s *Search) lookAgain(now float64) {
	s.mu.Lock()
	due := s.dueLooks(now)
	s.mu.Unlock()
	for i := range due {
		e := &due[i]
		q := s.question(*e)
		list := q.Children(e.st.h)
		s.mu.Lock()
		fresh := s.places(e, list)
		s.mu.Unlock()
		if len(fresh) == 0 {
			continue
		}
		if e.st.h == grid.Code {
			fresh = q.Below(fresh)
		}
		s.mu.Lock()
		before := len(s.graph.nodes)
		s.grow(e, fresh)
		e.n.looks[e.st].Added += len(s.graph.nodes) - before
		s.mu.Unlock()
	}
}

// dueLooks are the ways to be walked again now: those of the whole program first, since all that appears is below it.
func (s *Search) dueLooks(now float64) (due []expansion) {
	if now-s.lookedAgainAt < later.Every-1e-9 {
		return nil
	}
	s.lookedAgainAt = now
	overdue := map[*later.Way]float64{}
	for _, n := range s.graph.holding {
		if n.phase.over() {
			continue
		}
		for st, w := range n.looks {
			led := !n.focus.IsWhole() && slices.ContainsFunc(n.kids[st], func(k *node) bool { return k.state == True })
			if overdue[w] = w.Overdue(now, led); overdue[w] >= 1 {
				due = append(due, expansion{n: n, st: st, value: n.est.Value, threshold: n.est.Threshold})
			}
		}
	}
	slices.SortFunc(due, func(a, b expansion) int {
		return cmp.Or(min(foci.Depth(a.n.focus), 1)-min(foci.Depth(b.n.focus), 1), cmp.Compare(overdue[b.n.looks[b.st]], overdue[a.n.looks[a.st]]), a.n.id-b.n.id, int(a.st.h)-int(b.st.h))
	})
	most := later.AtOnce
	if !s.budget.HasTime() {
		most = later.Few
	}
	due = due[:min(most, len(due))]
	for i, e := range due {
		due[i].looked, due[i].last = e.n.looks[e.st].Walk(now)
	}
	return due
}

// places gives places to what a look found and that is not a child yet, and returns what is to become one. What was left out before and is hot
// now is queued. What is not hot must have been there at the look before.
func (s *Search) places(e *expansion, list []*refine.Found) (fresh []*refine.Found) {
	n, w := e.n, e.n.looks[e.st]
	if n.state != True || n.phase.over() {
		return nil
	}
	weights, news, cool := map[grid.Focus]float64{}, []*refine.Found{}, []grid.Focus{}
	for _, c := range list {
		weights[c.Focus] = c.Weight
		if s.isNews(e, c) {
			if news = append(news, c); !c.Hot {
				cool = append(cool, c.Focus)
			}
		}
	}
	steady := w.Steady(cool)
	for _, c := range news {
		k := s.childOf(n, c.Focus)
		if !c.Hot && !steady[c.Focus] || k == nil && !s.mayAdd(n, w.Added, len(fresh)) || !n.makePlace(e.st, c, weights, len(fresh)) {
			continue
		}
		if k == nil {
			fresh = append(fresh, c)
			continue
		}
		k.Beyond, k.Hot, k.Cool, k.Weight = false, true, false, c.Weight
		s.requeue(k, "tested: it is on more stacks now than when it was left out")
	}
	return fresh
}

// childOf is the child of a node at a focus; nil if it has none there.
func (s *Search) childOf(n *node, f grid.Focus) *node {
	k := s.graph.index[nodeKey{hyp: n.hyp, focus: f, phase: n.phase}]
	if k == nil || !slices.Contains(k.parents, n) {
		return nil
	}
	return k
}

// isNews tells that what a look found is no child yet and can become one, or that it is one that was left out and is hot now.
func (s *Search) isNews(e *expansion, c *refine.Found) bool {
	if k := s.childOf(e.n, c.Focus); k != nil {
		return k.Beyond && c.Hot
	}
	k := s.graph.index[nodeKey{hyp: e.n.hyp, focus: c.Focus, phase: e.n.phase}]
	if e.st.h == grid.Code && (e.within(e.n)[foci.Function(c.Focus)] || k != nil && !e.n.choosesCode() && k.isCalled()) {
		return false
	}
	return k == nil || !k.above(e.n)
}

// isCalled tells that a function is tested below one that holds. A stack that is not walked to its end looks as if a thread began with it.
func (n *node) isCalled() bool {
	return n.state != Never && slices.ContainsFunc(n.parents, func(p *node) bool { return p.hyp == n.hyp && p.state == True && p.choosesCode() })
}

// mayAdd tells whether a node may get another child beside so many that were added later and so many more, and says once if it may not.
func (s *Search) mayAdd(n *node, added, more int) bool {
	if added+more < later.MostAdded && len(s.graph.nodes)+more < mostNodes {
		return true
	}
	if !n.crowded {
		n.crowded = true
		s.say(n, "has led to %d nodes, %d of them later, and the search has %d: what else there is below it is not tested", len(n.children), added, len(s.graph.nodes))
	}
	return false
}

// makePlace tells whether a way has a place for a child beside so many that are about to be added. Where it is full, one that is hot gets the
// place of the lightest child that never held, if it is heavier.
func (n *node) makePlace(st step, c *refine.Found, weights map[grid.Focus]float64, more int) bool {
	taken := more
	var least *node
	for _, k := range n.kids[st] {
		if k.state == Never || k.state == Pruned {
			continue
		}
		taken++
		if mayGo := !k.everTrue && !k.watched && !k.Pinned && !k.ByHand; mayGo && (least == nil || weights[k.focus] < weights[least.focus]) {
			least = k
		}
	}
	if taken < maxChildren {
		return true
	}
	if !c.Hot || least == nil || weights[least.focus] >= c.Weight {
		return false
	}
	least.prune(fmt.Sprintf("left out: it was %s, and of %d others that are tested here one that appeared later is on more stacks", least.state, maxChildren))
	least.Beyond = true
	return true
}
