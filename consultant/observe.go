package consultant

import (
	"math"
	"slices"

	"culprit/consultant/bins"
	"culprit/consultant/decide"
	"culprit/consultant/explain"
	"culprit/grid"
)

// What follows from the readings of the watched nodes.
const (
	stallTime     = 10.0 // s without any value until a test is given up
	quietPatience = 30.0 // s a test waits for its parent to hold again before a low value counts
	retestPause   = 5.0  // s between two tests of one node for the same reason
	soonTested    = 10.0 // s behind the beginning of its parent within which a node is tested if nothing stands against it
	atOnce        = 0.1  // s; what has held since then has held from the first reading on
)

// observe reads what is new of all watched nodes and draws the conclusions. From time to time it does so although no value
// came: a node that never gets one is given up.
func (s *Search) observe(now float64) {
	if !s.alarm.HasNews() && now-s.lookedAt < stallTime/10 {
		return
	}
	s.alarm.Seen()
	s.lookedAt = now
	cache := bins.NewCache(s.cells.Pair)
	for _, n := range slices.Clone(s.graph.watching) {
		if n.watched && !math.IsInf(n.next, 1) {
			s.observeNode(n, now, cache)
		}
	}
}

func (s *Search) observeNode(n *node, now float64, cache *bins.Cache) {
	rows, next := s.rows(n)
	if !n.take(rows, next) {
		if n.state == Testing && n.win.Len() == 0 && now-n.started > stallTime && !s.halt.Explains(now) {
			n.giveUp("not tested: no values arrived for " + explain.Seconds(stallTime))
			s.say(n, "%s", n.reason)
		}
		return
	}
	n.tests.Read(rows[0].Start, rows[len(rows)-1].End, s.budget.SeenOf(n.pairs))
	if n.state != Testing && n.win.Len() < 5 {
		return // measured again: until there is enough to compare, what was concluded before stands
	}
	n.est = n.win.Estimate(n.hyp.Test).Likely(n.Held)
	s.draw(n, now, cache)
}

// rows reads what came of the pairs of a node since it was read last, side by side. next is where the rows that come later begin.
func (s *Search) rows(n *node) (rows []decide.Bin, next float64) {
	all := make([][]grid.Interval, len(n.pairs))
	for i, k := range n.pairs {
		all[i] = s.cells.Intervals(k, n.next)
	}
	rows, next = bins.Rows(all, n.next)
	return slices.DeleteFunc(rows, s.halt.Touches), next
}

// noteHalt notes whether the program is halted now. What was read since that began is forgotten.
func (s *Search) noteHalt(halted bool, now float64) {
	if !s.halt.See(halted, now) {
		return
	}
	for _, n := range s.graph.watching {
		n.win, _ = n.win.Until(s.halt.From)
		n.curve.Forget(s.halt.From)
	}
}

// take takes new readings, and tells whether there are any. next is where those that come later begin.
func (n *node) take(rows []decide.Bin, next float64) bool {
	for _, row := range rows {
		value, threshold := n.hyp.Judge(row.Values, 1)
		if n.bins == 0 {
			n.first = row.Start
		}
		n.bins++
		n.win.Add(row)
		n.hist.Add(row.End, value)
		if n.phase.index == 0 && n.hyp.Fraction && n.hyp.Additive() {
			n.curve.Add(row.Start, row.End, value)
		}
		n.reading(row.Start, row.End, n.hyp.Margin(value, threshold) > 0)
	}
	n.next = next
	return len(rows) > 0
}

// draw concludes from the window of a node, if that is possible.
func (s *Search) draw(n *node, now float64, cache *bins.Cache) {
	before, observe := n.answered(), s.cfg.MinObserve.Seconds()
	c := n.est.Conclude(before, observe)
	if before == decide.No && !(c.Settled && c.Holds) {
		if recent, ok := n.win.Onset(n.hyp.Test); ok {
			e := recent.Estimate(n.hyp.Test)
			if o := e.Conclude(before, observe); o.Settled && o.Holds {
				c, n.est = o, e
			}
		}
	}
	if !c.Settled {
		n.confidence = n.est.SureOf(before)
		return
	}
	if before == decide.None && !c.Holds && s.parentsQuiet(n) && now-n.started < quietPatience {
		n.confidence = c.Confidence
		n.reason = "waits until its parent holds again: a low value says nothing now"
		return
	}
	n.confidence = c.Confidence
	if c.Holds && before != decide.Yes {
		n.sinceAt, n.sinceOpen = s.onsetOf(n, cache)
	}
	s.settle(n, c.Holds, now)
}

// parentsQuiet tells that none of the true parents held while the node was tested: then a low value rules nothing out.
func (s *Search) parentsQuiet(n *node) bool {
	quiet := false
	for _, p := range n.trueParents() {
		if p.hyp != n.hyp || !p.watched {
			return false
		}
		w := p.win.Since(n.win.Start())
		if w.Len() == 0 {
			return false
		}
		if w.Estimate(p.hyp.Test).Margin > 0 {
			return false
		}
		quiet = true
	}
	return quiet
}

// onsetOf finds since when the value of a node has held: the start of the run of bins that hold, followed back through what was recorded before the test, and
// further through its true parents if it held from the first record on. open tells that even then the beginning was not seen.
func (s *Search) onsetOf(n *node, cache *bins.Cache) (since float64, open bool) {
	run := n.run
	if !run.On {
		return n.win.Start(), false
	}
	if run.From > n.first+atOnce {
		return run.From, false
	}
	r, ok := cache.Reader(n.pairs, bins.Span{Phase: n.phase.index, Start: n.phase.Start})
	if !ok {
		return run.From, true
	}
	back, open := r.Back(n.first, n.phase.Start, func(values []float64) bool { return n.hyp.Margin(n.hyp.Judge(values, 1)) > 0 })
	since = min(run.From, back)
	if n.falseAt > 0 {
		return since, false // it was seen false before, whatever its parents did
	}
	if open {
		since = n.sinceOfParents(since)
	}
	return since, open
}

// sinceOfParents is the earliest beginning of a true parent, or since if none began before. Nothing began before it was there.
func (n *node) sinceOfParents(since float64) float64 {
	for _, p := range n.trueParents() {
		since = min(since, n.earliestBelow(p))
	}
	return since
}

// earliestBelow is when a node may have begun to hold that a true parent led to, if the parent held all the time: not before it was there, and not
// before others in its place were seen last. What was not tested soon may be what took the place of others that nobody has seen.
func (n *node) earliestBelow(p *node) float64 {
	at := max(p.sinceAt, n.appeared)
	if n.first-p.sinceAt > soonTested {
		at = max(at, n.first)
	}
	for _, k := range p.children {
		if k != n && k.hyp == n.hyp && k.via == n.via && k.state == False && k.everTrue {
			at = max(at, k.past.To)
		}
	}
	return at
}

// settle records an answer and does what follows from a change.
func (s *Search) settle(n *node, holds bool, now float64) {
	old := n.state
	if holds {
		n.past.Hold(n.est, n.confidence, old != True)
	} else if old == True {
		s.keepEarlier(n)
	}
	if holds == (old == True) && old != Testing && old != OverBudget && old != Refused {
		return
	}
	n.settle(holds, n.persistent() || n.Pinned, now)
	if n.persistent() && (old == True || old == False) {
		s.recheck.Wish()
	}
	if holds {
		s.becameTrue(n, old)
		return
	}
	if old != True {
		if why := s.unseen(n.hyp, map[*hypothesis]string{}); why != "" {
			s.say(n, "is not seen: %s; %s", n.evidence(), why)
		} else {
			s.say(n, "tested false: %s", n.evidence())
		}
		return
	}
	s.say(n, "became false: %s", n.evidence())
	s.endParts(n, now)
	for _, p := range n.trueParents() {
		s.retestKids(p, now)
	}
}

// endParts ends what is not watched and has a part of the time of a node that is false now: it has less than that.
func (s *Search) endParts(n *node, now float64) {
	if !n.focus.IsWhole() || !n.hyp.Fraction || !n.hyp.Additive() {
		return
	}
	for _, m := range slices.Clone(s.graph.holding) {
		if m.hyp == n.hyp && m.phase == n.phase && !m.watched && m != n {
			s.keepEarlier(m)
			m.est, m.confidence = n.est, n.confidence // at most
			m.settle(false, false, now)
			s.say(m, "is over: the whole program has less")
		}
	}
}

func (s *Search) becameTrue(n *node, old State) {
	if n.byShare() { // samples are read from when the node was found to be too expensive
		n.sinceAt, n.sinceOpen = n.sinceOfParents(n.run.From), true
	}
	if old == False {
		s.say(n, "became true: %s", n.evidence())
	} else {
		s.say(n, "tested true: %s", n.evidence())
	}
	n.sinceAt = max(n.sinceAt, n.phase.Start) // a phase that was found late has readings from before it was
	n.passSince()
	if n.everTrue {
		s.retestKids(n, n.decidedAt)
		return
	}
	n.everTrue = true
	s.plan(n)
}

// passSince lets the children that were true from their first value on begin as early as the node.
func (n *node) passSince() {
	for _, k := range n.children {
		if at := k.earliestBelow(n); k.sinceOpen && k.state == True && k.sinceAt > at {
			k.sinceAt = at
			k.passSince()
		}
	}
}

// retestKids queues the false children of a node again: the answer of one of them, or of the node, has changed.
func (s *Search) retestKids(n *node, now float64) {
	for _, k := range n.children {
		if k.state == False && !k.watched && now-k.decidedAt > retestPause && !k.byShare() {
			k.retests++
			s.requeue(k, "tested again: "+explain.Focus(n.focus)+" has changed")
		}
		s.revive(k)
	}
}

// requeue lets a node be tested from the beginning.
func (s *Search) requeue(n *node, reason string) {
	n.requeue(reason)
	s.budget.ForgetErrors(n.pairs)
}
