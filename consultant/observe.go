package consultant

import (
	"math"
	"slices"

	"culprit/consultant/decide"
	"culprit/consultant/explain"
	"culprit/grid"
)

// Reading the grid: the bins of all metrics of a node, aligned, and what follows from them.
const (
	stallTime     = 10.0 // s without any value until a test is given up
	quietPatience = 30.0 // s a test waits for its parent to hold again before a low value counts
	retestPause   = 5.0  // s between two tests of one node for the same reason
	suspectEvery  = 2.0  // s between two comparisons of false nodes with the stack samples
	suspectMore   = 1.2  // times the threshold: what the samples must promise
)

// A series is a copy of one histogram for the length of a tick.
type series struct {
	start, width float64
	rates        []float64 // NaN: missing
	until        float64   // s; the time up to which bins are filled
}

// A seriesKey names a series: each pair is read once per tick and phase.
type seriesKey struct {
	pair  grid.PairKey
	phase *phase
}

// read returns the series of a pair; nil if there is no histogram.
func (s *Search) read(pair grid.PairKey, p *phase, cache map[seriesKey]*series) *series {
	k := seriesKey{pair, p}
	if v, ok := cache[k]; ok {
		return v
	}
	var v *series
	if snap, ok := s.cells.Pair(pair); ok && snap.Histogram != nil {
		h := finest(snap, p).Copy() // the live one may fold between two questions
		v = &series{start: h.Start(), width: h.Width(), rates: h.Rates(), until: h.FilledUntil()}
	}
	cache[k] = v
	return v
}

// finest is the histogram that shows a node's phase best: for a phase of its own one that began no later than the phase
// and has narrower bins than that of the whole session.
func finest(snap grid.Snapshot, p *phase) *grid.Histogram {
	best := snap.Histogram
	for _, ph := range snap.Phases {
		if p.index > 0 && ph.Phase.End == 0 && ph.Phase.Start <= p.Start && ph.Histogram.Width() < best.Width() {
			best = ph.Histogram
		}
	}
	return best
}

// over is the average of the bins that lie in (t, t+w]; NaN if one of them is missing.
func (v *series) over(t, w float64) float64 {
	first := int(math.Round((t - v.start) / v.width))
	count := max(1, int(math.Round(w/v.width)))
	if first < 0 || first+count > len(v.rates) {
		return math.NaN()
	}
	sum := 0.0
	for _, r := range v.rates[first : first+count] {
		sum += r
	}
	return sum / float64(count)
}

// A reader reads aligned bins of one node: those of the widest of its histograms.
type reader struct {
	cols         []*series
	start, width float64
	until        float64
}

// reader opens the histograms of a node; ok is false while one of them is missing.
func (s *Search) reader(n *node, cache map[seriesKey]*series) (r reader, ok bool) {
	r.until = math.Inf(1)
	for _, k := range n.pairs {
		v := s.read(k, n.phase, cache)
		if v == nil || !(v.width > 0) {
			return r, false
		}
		r.cols = append(r.cols, v)
		r.until = min(r.until, v.until)
		if v.width > r.width {
			r.start, r.width = v.start, v.width
		}
	}
	return r, len(r.cols) > 0
}

// row reads the bin that begins at t; ok is false if a metric is missing there.
func (r reader) row(t float64) (row decide.Bin, ok bool) {
	row = decide.Bin{Start: t, End: t + r.width, Values: make([]float64, len(r.cols))}
	for i, c := range r.cols {
		v := c.over(t, r.width)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return row, false
		}
		row.Values[i] = v
	}
	return row, true
}

// edge is the first edge of a bin at or after t.
func (r reader) edge(t float64) float64 {
	return r.start + math.Ceil((t-r.start)/r.width-1e-6)*r.width
}

// observe reads the new bins of all watched nodes and draws the conclusions. Where no value came it is for those that never get one.
func (s *Search) observe(now float64) {
	taken := s.cells.Taken()
	if taken == s.taken && now-s.lookedAt < stallTime/10 {
		return
	}
	s.taken, s.lookedAt = taken, now
	cache := map[seriesKey]*series{}
	for _, n := range slices.Clone(s.graph.watching) {
		if n.watched && !math.IsInf(n.next, 1) {
			s.observeNode(n, now, cache)
		}
	}
}

func (s *Search) observeNode(n *node, now float64, cache map[seriesKey]*series) {
	r, ok := s.reader(n, cache)
	added := 0
	if ok {
		added = n.take(r)
	}
	if added == 0 {
		if n.state == Testing && n.win.Len() == 0 && now-n.started > stallTime {
			n.giveUp("not tested: no values arrived for " + explain.Seconds(stallTime))
			s.say(n, "%s", n.reason)
		}
		return
	}
	if n.state != Testing && n.win.Len() < 5 {
		return // measured again: until there is enough to compare, what was concluded before stands
	}
	n.est = n.win.Estimate(n.hyp.Test)
	s.draw(n, now, cache)
}

// take reads what bins are new and returns their number.
func (n *node) take(r reader) int {
	added := 0
	t := r.edge(n.next)
	for ; t+r.width <= r.until+r.width/1000; t += r.width {
		row, ok := r.row(t)
		if !ok {
			continue
		}
		value, threshold := n.hyp.Judge(row.Values, 1)
		if n.bins == 0 {
			n.first = row.Start
		}
		n.bins++
		n.win.Add(row)
		n.hist.add(row.End, value)
		n.run.Add(row.Start, n.hyp.Margin(value, threshold) > 0)
		added++
	}
	n.next = t
	return added
}

// draw concludes from the window of a node, if that is possible.
func (s *Search) draw(n *node, now float64, cache map[seriesKey]*series) {
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
		n.confidence = n.est.Confidence()
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

// onsetOf finds since when the value of a node has held: the start of the run of bins that hold, followed back through
// what was recorded before the test, and further through its true parents if it held from the first record on. open
// tells that even then the beginning was not seen.
func (s *Search) onsetOf(n *node, cache map[seriesKey]*series) (since float64, open bool) {
	run := n.run
	if !run.On {
		return n.win.Start(), false
	}
	if run.From > n.first+n.win.Width()/2 {
		return run.From, false
	}
	r, ok := s.reader(n, cache)
	if !ok {
		return run.From, true
	}
	since, open = run.From, true
	misses := 0
	for t := r.edge(n.first) - r.width; t >= n.phase.Start-1e-9 && t >= r.start-1e-9; t -= r.width {
		row, ok := r.row(t)
		if !ok {
			break
		}
		if n.hyp.Margin(n.hyp.Judge(row.Values, 1)) > 0 {
			since, misses = t, 0
			continue
		}
		if misses++; misses > decide.ForgivenGap {
			open = false
			break
		}
	}
	if n.falseAt > 0 {
		return since, false // it was seen false before, whatever its parents did
	}
	if open {
		since = n.sinceOfParents(since)
	}
	return since, open
}

// sinceOfParents is the earliest beginning of a true parent, or since if none began before.
func (n *node) sinceOfParents(since float64) float64 {
	for _, p := range n.trueParents() {
		since = min(since, p.sinceAt)
	}
	return since
}

// settle records an answer and does what follows from a change.
func (s *Search) settle(n *node, holds bool, now float64) {
	old := n.state
	if holds == (old == True) && old != Testing && old != OverBudget {
		return
	}
	n.settle(holds, n.persistent() || n.pinned, now)
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
	for _, p := range n.trueParents() {
		s.retestKids(p, now)
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
		if k.sinceOpen && k.state == True && k.sinceAt > n.sinceAt {
			k.sinceAt = n.sinceAt
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

// suspect compares false children of true nodes that have no true child with the stack samples: where these now
// promise a true node the test is repeated, at growing intervals. Children that wait for processor time wait no longer then. It takes the
// lock itself.
func (s *Search) suspect(now float64) {
	s.mu.Lock()
	var jobs []*sampleJob
	if now-s.suspectedAt >= suspectEvery {
		s.suspectedAt = now
		jobs = s.suspicions(now)
	}
	s.mu.Unlock()
	for _, j := range jobs {
		if all := s.cfg.World.Weight(j.base.focus, j.n.hyp.kind); all > 0 {
			j.share, j.known = s.cfg.World.Weight(j.n.focus, j.n.hyp.kind)/all, true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range jobs {
		if j.known && j.n.state == Queued && j.base.est.Value*j.share >= hotShare*j.base.est.Threshold {
			j.n.hot, j.n.cool = true, false
		}
		if j.known && j.n.state == False && j.base.est.Value*j.share > suspectMore*j.n.est.Threshold {
			j.n.retests++
			s.requeue(j.n, "tested again: stack samples show more than was measured")
		}
	}
}

func (s *Search) suspicions(now float64) []*sampleJob {
	var jobs []*sampleJob
	for _, n := range s.graph.nodes {
		if n.state != True || !n.hyp.sampled() || n.phase.over() {
			continue
		}
		explained := len(n.trueKids()) > 0
		for _, k := range n.children {
			if k.hyp == n.hyp && s.isPostponed(k) && len(jobs) < maxLooks {
				jobs = append(jobs, &sampleJob{n: k, base: n})
			}
			if explained {
				continue
			}
			wait := 2 * retestPause * math.Exp2(float64(min(k.retests, 10)))
			if k.hyp == n.hyp && k.state == False && !k.watched && now-k.decidedAt > wait && len(jobs) < maxLooks {
				jobs = append(jobs, &sampleJob{n: k, base: n})
			}
		}
	}
	return jobs
}
