package consultant

import (
	"cmp"
	"slices"

	"culprit/consultant/beat"
	"culprit/consultant/budget"
	"culprit/consultant/links"
)

// Answers that are not watched. Watching an answer takes budget and CPU time from the candidates, and an answer stands without it. An answer is released when
// candidates need its budget, and suspended while CPUs are busy. What is released is watched again one node at a time, when there is room in the budget. What
// is suspended is watched again together, since each change stops the target for a moment: at once when CPUs are idle, and when an answer about the whole program
// that is watched changes; else after an interval that grows while no answer changes, those about the whole program after a short one.

const (
	watchTime    = 3.0 // s that an answer is watched at least
	rewatchShare = 0.8 // of the budget: what was released is watched again if no more than this is used then
	suspended    = "re-checked periodically because CPUs are busy"
)

// suspend stops watching answers while CPUs are busy.
func (s *Search) suspend(now float64) {
	if !s.budget.Busy() {
		return
	}
	for _, n := range slices.Clone(s.graph.watching) {
		if s.maySuspend(n, now) {
			n.suspend(now + s.recheck.After(n.persistent()))
			s.recheck.Since = min(s.recheck.Since, now)
		}
	}
}

// maySuspend tells that an answer need not be watched for a while, and that this frees probes: it was watched for long
// enough, its readings do not say the contrary, nobody has pinned it, and no child is being tested, which would be compared with it.
func (s *Search) maySuspend(n *node, now float64) bool {
	if n.Pinned || n.state == Testing || n.contradicted() || now-max(n.decidedAt, n.started) < watchTime || !s.probes(n) {
		return false
	}
	return !slices.ContainsFunc(n.children, func(k *node) bool { return k.state == Testing })
}

// isOver tells that the suspension of an answer is over.
func (s *Search) isOver(n *node, now float64) bool {
	if !n.suspended {
		return false
	}
	at := n.recheckAt
	if s.budget.Overdrawn() && !n.persistent() {
		at += beat.Most - s.recheck.Interval
	}
	return now >= at || !s.budget.Busy()
}

// rewatch watches answers again for which the budget has room: all that are suspended if the time of one is over, those about the whole program alone if only
// one of them is, and one that was released. What was suspended and finds no room is released.
func (s *Search) rewatch(now float64, room budget.Room) {
	over := s.answers(func(n *node) bool { return s.isOver(n, now) })
	all := s.recheck.Due(now) || slices.ContainsFunc(over, func(n *node) bool { return !n.persistent() })
	if all {
		s.recheck.Lengthen(slices.ContainsFunc(s.graph.nodes, func(n *node) bool { return n.decidedAt > s.recheck.Since }), now)
	}
	if all || len(over) > 0 {
		for _, n := range s.answers(func(n *node) bool { return n.suspended && (all || n.persistent()) }) {
			s.resume(n, now, &room)
		}
	}
	if room.Load > rewatchShare*room.Limit {
		return
	}
	for _, n := range s.answers(func(n *node) bool { return n.isReleased() && n.recheckAt <= now }) {
		if _, fits := s.fits(n, &room, rewatchShare); fits {
			n.watchAgain(s.batch, now)
			return
		}
	}
}

// answers are nodes in the order in which they are watched again: the hypotheses of the first level, what is told, and what has most of the program's time.
func (s *Search) answers(which func(*node) bool) (list []*node) {
	for _, n := range s.graph.nodes {
		if which(n) {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b *node) int {
		return cmp.Or(links.Later(b.persistent(), a.persistent()), links.Later(b.past.Told, a.past.Told), cmp.Compare(b.time(), a.time()))
	})
	return list
}

// fits tells whether there is room for a node within a share of the budget.
func (s *Search) fits(n *node, room *budget.Room, share float64) (cost budget.Cost, ok bool) {
	cost, known, err := s.budget.Predict(n.pairs)
	if !known || err != nil {
		return cost, false
	}
	ok, _ = room.Admit(cost, share)
	return cost, ok
}

// resume ends the suspension of an answer.
func (s *Search) resume(n *node, now float64, room *budget.Room) {
	cost, fits := s.fits(n, room, 1)
	if !fits {
		n.release(n.reason)
		return
	}
	room.Take(cost, 0, cost.Shared > 0)
	n.watchAgain(s.batch, now)
}

// isReleased tells that an answer is not watched and would be if there were room in the budget.
func (n *node) isReleased() bool {
	return (n.state == True || n.state == False && n.persistent()) && !n.watched && !n.suspended && !n.byShare() && !n.isRoot() && !n.phase.over()
}

// release stops watching the costliest answers until as much is free as the candidates lack: first true ones below the
// first level, of them first those that are not told, then false ones of the first level.
func (s *Search) release(short float64) {
	var list []*node
	for _, n := range s.graph.watching {
		if !n.Pinned && (n.state == True && !n.persistent() || n.state == False) {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.state, a.state), links.Later(a.past.Told, b.past.Told), cmp.Compare(b.cost, a.cost)) // "true" before "false"
	})
	for _, n := range list {
		if short <= 0 || n.cost <= 0 {
			return
		}
		n.release("not watched any longer: the budget is needed for candidates")
		short -= n.cost
	}
}
