package consultant

import (
	"math"

	"culprit/consultant/decide"
)

// Where processors are busy, what probes have concluded is not measured all the time: none of them stays in the program for it, and the
// answer stands. It is looked at again when processors are idle, and after a while where there is time for it; the longer nothing changes,
// the longer that is. Where there is none it is looked at after the longest while in any case. All doze and wake together as far as they can:
// each change stops the target for a moment.

const (
	glanceTime  = 3.0  // s that an answer is watched at least
	dozeTime    = 20.0 // s that an answer is not watched, at first
	longestDoze = 60.0 // s at most
	dozing      = "re-checked periodically because CPUs are busy"
)

// doze ends the watching of what has been concluded while processors are busy.
func (s *Search) doze(now float64) {
	if !s.isBusy() {
		return
	}
	for _, n := range s.graph.nodes {
		if s.canDoze(n, now) {
			n.watch, n.dozedAt, n.reason = false, now, dozing
			s.wokeAt = min(s.wokeAt, now) // nothing that was concluded before is a change
		}
	}
}

// canDoze tells that a node need not be measured for a while, and that this would free probes: it has been concluded and was seen for
// long enough, nobody has pinned it, and no part of it is being tested, which would be compared with it.
func (s *Search) canDoze(n *node, now float64) bool {
	if !n.watch || n.pinned || n.state != True && n.state != False || now-max(n.decidedAt, n.started) < glanceTime || !s.probes(n) {
		return false
	}
	for _, k := range n.children {
		if k.state == Testing {
			return false
		}
	}
	return true
}

// wake has all that dozes watched again, as far as the budget allows, if it is time for that. It returns the load with it.
func (s *Search) wake(now, load float64) float64 {
	due := false
	for _, n := range s.graph.nodes {
		due = due || n.dozes() && (!s.isBusy() || now-n.dozedAt >= s.dozesFor())
	}
	if !due {
		return load
	}
	s.pace(now)
	for _, n := range s.graph.nodes {
		if n.dozes() {
			load += s.wakeNode(n, now, load)
		}
	}
	return load
}

// dozesFor is how long what dozes is not watched, in s.
func (s *Search) dozesFor() float64 {
	if s.spare < 0 {
		return longestDoze
	}
	return s.dozeFor
}

// pace says how long the next doze is: twice as long as the last if no answer has changed since then.
func (s *Search) pace(now float64) {
	s.dozeFor = min(2*s.dozeFor, longestDoze)
	for _, n := range s.graph.nodes {
		if n.decidedAt > s.wokeAt {
			s.dozeFor = dozeTime
		}
	}
	s.wokeAt = now
}

// wakeNode returns what it adds to the load. What does not fit is watched again when there is room, as all that was released.
func (s *Search) wakeNode(n *node, now, load float64) float64 {
	n.dozedAt = 0
	_, more, known, err := s.predict(n)
	if !known || err != nil || load+more > s.cfg.Budget && more > 0 {
		return 0
	}
	s.watchAgain(n, now)
	return more
}

// watchAgain measures a node anew; what was concluded stands until there is enough to compare.
func (s *Search) watchAgain(n *node, now float64) {
	n.watch, n.reason, n.batch = true, "", s.batch
	n.win, n.next = decide.Window{}, math.Inf(1)
	s.willKeep(n)
	n.started, n.dozedAt = now, 0
}

// dozes tells that a node is not watched for want of time.
func (n *node) dozes() bool { return n.dozedAt > 0 }
