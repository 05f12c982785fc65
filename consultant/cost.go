package consultant

import (
	"fmt"
	"math"
	"sort"

	"culprit/consultant/decide"
	"culprit/grid"
)

// The cost of looking. A candidate's price comes from measured call rates; what is started must fit into the budget
// beside what is observed and what was started too recently to be seen in the observed cost.
const (
	priceBatch   = 32   // nodes priced at once; a batch takes about 100 ms
	priceTTL     = 60.0 // s; call rates change
	startBatch   = 64   // pairs enabled at once, so that the stop stays short
	maxActive    = 800  // pairs enabled at once over all
	settleTime   = 1.5  // s until the observed cost shows what was started
	shedPause    = 1.0  // s between two steps of shedding
	shedAfter    = 1.2  // s; a shorter excess may come from the stop of one batch, which the observed cost includes
	grossExcess  = 15.0 // times the budget; what exceeds it so much is stopped as soon as it is not the stop of a batch
	grossAfter   = 0.45 // s
	falls        = 0.85 // an observed cost below this share of the one before is what a stop leaves behind: it fades away
	starved      = 3.0  // s of waiting for budget until stack samples are asked
	rewatchShare = 0.8  // of the budget: what was released is watched again if no more than this is used then
	firstBackoff = 0.25 // s after the first deferral; doubles
	maxBackoff   = 8.0  // s
	maxAgain     = 60.0 // s until a hypothesis of the first level that cost too much is tried again, at most
)

// A priceTag is what a pair costs, or why it cannot be measured.
type priceTag struct {
	price grid.Price
	err   error
	at    float64
	bump  float64 // factor by which experience corrected the prediction; 0 counts as 1
	least float64 // fraction that experience showed, whatever is predicted
}

func (t priceTag) fraction() float64 {
	f := t.price.Fraction
	if math.IsNaN(f) || f < 0 {
		f = 0
	}
	return max(f*max(t.bump, 1), t.least)
}

// A cell is a pair that this search has enabled.
type cell struct {
	since float64 // s; values are complete from then on
	tier  grid.Tier
	at    float64 // s; when it was enabled
	cost  float64 // predicted
	kept  float64 // likewise, of what is kept for all pairs at once
}

// priceQueue asks for the prices of the first candidates that have none. It takes the lock itself.
func (s *Search) priceQueue(now float64) {
	s.mu.Lock()
	keys := s.unpriced(now)
	s.mu.Unlock()
	if len(keys) == 0 {
		return
	}
	prices, errs := s.cells.Price(keys)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range keys {
		tag := priceTag{at: now, bump: s.prices[k].bump, least: s.prices[k].least}
		if i < len(prices) {
			tag.price = prices[i]
		}
		if i < len(errs) {
			tag.err = errs[i]
		}
		s.prices[k] = tag
	}
}

// unpriced lists the pairs without a recent price of the first candidates, each once.
func (s *Search) unpriced(now float64) []grid.PairKey {
	var keys []grid.PairKey
	seen := map[grid.PairKey]bool{}
	nodes := 0
	for _, n := range s.candidates(now) {
		if s.waitsForTime(n) {
			continue
		}
		fresh := false
		for _, k := range n.hyp.keys(n.focus) {
			tag, known := s.prices[k]
			if _, on := s.active[k]; seen[k] || on || known && now-tag.at < priceTTL {
				continue
			}
			seen[k], fresh = true, true
			keys = append(keys, k)
		}
		if fresh {
			nodes++
		}
		if nodes == priceBatch {
			break
		}
	}
	return keys
}

// candidates lists the nodes that could be started now, the most promising first.
func (s *Search) candidates(now float64) []*node {
	var list []*node
	for _, n := range s.graph.nodes {
		if n.state == Queued || n.state == Deferred && n.wakeAt <= now {
			list = append(list, n)
		}
	}
	rank := func(n *node) int {
		switch {
		case n.byHand || n.pinned:
			return 0
		case n.axis == "why" && n.persistent():
			return 1
		case n.hot:
			return 2
		case n.axis == "why":
			return 3
		}
		return 4
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if ra, rb := rank(a), rank(b); ra != rb {
			return ra < rb
		}
		if a.weight != b.weight {
			return a.weight > b.weight
		}
		return a.id < b.id
	})
	return list
}

// predict returns the predicted cost of all pairs of a node, and of those among them that are not enabled yet.
// ok is false as long as a price is unknown; err is why one of the pairs cannot be measured.
func (s *Search) predict(n *node) (all, more float64, ok bool, err error) {
	seen := map[grid.PairKey]bool{}
	for _, k := range n.hyp.keys(n.focus) {
		if seen[k] {
			continue
		}
		seen[k] = true
		if c, on := s.active[k]; on {
			all += c.cost
			continue
		}
		tag, known := s.prices[k]
		if !known {
			return 0, 0, false, nil
		}
		if tag.err != nil && err == nil {
			err = tag.err
		}
		all += tag.fraction()
		more += tag.fraction()
	}
	kept := s.keptFor(n)
	if all += kept; !s.keeps {
		more += kept
	}
	return all, more, true, err
}

// load is the observed cost plus what was enabled too recently to be seen in it.
func (s *Search) load(now float64) float64 {
	load := s.observed
	for _, c := range s.active {
		if now-c.at < settleTime {
			load += c.cost
		}
	}
	return load + s.keptSince(now-settleTime)
}

// pick marks the candidates that fit into the budget as being tested.
func (s *Search) pick(now float64) {
	load := s.load(now)
	if s.observed > s.cfg.Budget || s.owesStops(now) { // not even what costs nothing: to insert it stops the target
		s.slowed(len(s.candidates(now)), load)
		return
	}
	pairs, started := len(s.active), 0
	s.batch++
	s.keeps = s.keptNow()
	blocked, left := 0, math.MaxInt
	if s.isBusy() {
		left = fewAtOnce
	}
	short := math.Inf(1)
	for _, n := range s.candidates(now) {
		if started >= startBatch {
			break
		}
		if n.explained() {
			n.state, n.skip = Never, true
			n.reason = "not tested: another callee explains nearly all of its caller"
			continue
		}
		if s.waitsForWhole(n) {
			continue
		}
		if s.waitsForTime(n) || left == 0 && !n.isPromising() {
			n.wantTime(now)
			continue
		}
		all, more, known, err := s.predict(n)
		if !known {
			continue
		}
		n.cost, n.priced = all, true
		if n.startTry == 0 {
			n.startTry = now
		}
		switch {
		case err != nil:
			s.fail(n, err, now)
		case more > s.cfg.Budget:
			s.overBudget(n, now)
		case load+more > s.cfg.Budget && more > 0 && now-n.startTry > starved && n.weight > 0 && n.hyp.sampled() && !n.persistent():
			n.starved = true
			s.overBudget(n, now)
		case load+more > s.cfg.Budget && more > 0, pairs+len(n.hyp.Metrics) > maxActive:
			blocked++
			short = min(short, load+more-s.cfg.Budget)
			n.reason = fmt.Sprintf("waits for budget: %s are used, it needs %s more of %s",
				percent(load), percent(more), percent(s.cfg.Budget))
		default:
			load += more
			pairs += len(n.hyp.Metrics)
			started += len(n.hyp.Metrics)
			if !n.isPromising() {
				left--
			}
			s.begin(n, now)
		}
	}
	s.slowed(blocked, load)
	if blocked > 0 {
		s.release(short)
		return
	}
	s.rewatch(now, s.wake(now, load))
}

// stopCredit is for how long the program may stand still ahead of the budget, as s of the session: the first probes are put in with many stops.
const stopCredit = 2.5

// owesStops tells that the program stood still for more than the budget's share of the session. Each batch costs at least one stop, which with
// thousands of threads takes a tenth of a second: the next one waits until those before are paid for. The first one, without which nothing
// would be known, does not wait.
func (s *Search) owesStops(now float64) bool {
	return !math.IsInf(s.changedAt, -1) && s.stood > s.cfg.Budget*(now+stopCredit)
}

// waitsForWhole tells that a node need not be started now: a focus that covers it has turned out false, or is still
// being tested. By hand everything is tested.
func (s *Search) waitsForWhole(n *node) bool {
	if n.byHand || n.pinned || !n.hyp.Additive() && n.hyp.Greater {
		return false
	}
	if w := s.ruledOut(n); w != nil {
		n.state, n.skip, n.reason = Never, true, "not tested: "+partOf(w)
		return true
	}
	for _, f := range widenings(n.focus) {
		if w := s.graph.index[nodeKey{hyp: n.hyp, focus: f, phase: n.phase}]; w != nil && w.state == Testing {
			return true
		}
	}
	return false
}

// explained tells that each of the true parents along Code has another true child with more than 90 % of its value, so
// that there is not enough left for this node.
func (n *node) explained() bool {
	if n.via != grid.Code || n.axis != "where" || n.byHand || n.pinned || n.hot || !n.hyp.Additive() {
		return false
	}
	parents := n.trueParents()
	for _, p := range parents {
		kids := p.kids[step{h: grid.Code}]
		enough := false
		for _, k := range kids {
			left := p.est.Value - k.est.Value
			enough = enough || k != n && k.state == True && k.est.Value > 0.9*p.est.Value && left < k.est.Threshold
		}
		if !enough {
			return false
		}
	}
	return len(parents) > 0
}

// begin starts the experiment of a node; its pairs are enabled by the next batch.
func (s *Search) begin(n *node, now float64) {
	n.state, n.watch, n.reason = Testing, true, ""
	n.batch, n.started = s.batch, now
	n.win, n.shares = decide.Window{}, nil
	n.run = decide.Run{}
	n.bins = 0
	n.next = math.Inf(1) // until the pairs are enabled
	s.willKeep(n)
	for _, p := range n.trueParents() {
		if p.dozes() {
			s.watchAgain(p, now)
		}
	}
}

// release stops watching the costliest concluded nodes until as much is free as the candidates lack: first the true
// ones below the first level, then the false ones of the first level.
func (s *Search) release(short float64) {
	var list []*node
	for _, n := range s.graph.nodes {
		if n.watch && !n.pinned && (n.state == True && !n.persistent() || n.state == False) {
			list = append(list, n)
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		if a, b := list[i], list[j]; a.state != b.state {
			return a.state == True
		}
		return list[i].cost > list[j].cost
	})
	for _, n := range list {
		if short <= 0 || n.cost <= 0 {
			return
		}
		n.watch = false
		n.reason = "not watched any longer: the budget is needed for candidates"
		short -= n.cost
	}
}

// rewatch watches one node again that was released, when there is room to spare.
func (s *Search) rewatch(now, load float64) {
	for _, n := range s.graph.nodes {
		released := n.state == True || n.state == False && n.persistent()
		if !released || n.watch || n.dozes() || n.wakeAt > now || n.byShare() || n.isRoot() || n.phase.over() {
			continue
		}
		_, more, known, err := s.predict(n)
		if known && err == nil && load+more <= rewatchShare*s.cfg.Budget {
			s.watchAgain(n, now)
			return
		}
	}
}

// slowed tells once that the search has to wait for budget, and once that it goes on.
func (s *Search) slowed(blocked int, load float64) {
	s.blocked = blocked
	if slow := blocked > 0; slow != s.slow {
		s.slow = slow
		if slow {
			s.say(nil, "search slowed: %s, %s", s.spent(load), count(blocked, "candidate waits", "candidates wait"))
		} else {
			s.say(nil, "search resumed")
		}
	}
}

// spent says what of the budget is used.
func (s *Search) spent(load float64) string {
	if now := s.cfg.Now(); s.owesStops(now) {
		return fmt.Sprintf("the program was paused for %.2f s in %.1f s, more than the budget of %s", s.stood, now, percent(s.cfg.Budget))
	}
	return fmt.Sprintf("probes cost %s of the program's time, and the budget is %s", percent(load), percent(s.cfg.Budget))
}

// shed stops what was started last when the observed cost exceeds the budget: the predictions were wrong, so those
// prices are corrected. The hypotheses of the first level go only when nothing else is left.
func (s *Search) shed(now float64) {
	if s.observed <= s.cfg.Budget {
		s.overSince = math.Inf(1)
		return
	}
	s.overSince = min(s.overSince, now)
	over := now - s.overSince
	gross := s.observed > grossExcess*s.cfg.Budget && over >= grossAfter
	if s.falling || now-s.shedAt < shedPause || over < shedAfter && !gross {
		return
	}
	last, stop := s.latest(func(n *node) bool { return !n.persistent() })
	if last == 0 {
		last, stop = s.latest((*node).persistent)
	}
	if last == 0 {
		return
	}
	s.shedAt = now
	excess := s.observed - s.cfg.Budget
	for _, n := range stop {
		s.stopForCost(n, max(2, s.observed/s.cfg.Budget*1.5), excess/float64(len(stop)))
	}
	s.say(nil, "observed cost %s exceeds the budget of %s: %s stopped", percent(s.observed), percent(s.cfg.Budget),
		count(len(stop), "experiment", "experiments"))
}

// latest finds the batch started last among the nodes of a kind that are not pinned and use probes of their own, and the
// nodes of the kind in it; 0 if there is none.
func (s *Search) latest(kind func(*node) bool) (batch int, list []*node) {
	for _, n := range s.graph.nodes {
		if n.watch && kind(n) && !n.pinned && n.batch > batch && s.costs(n) {
			batch = n.batch
		}
	}
	for _, n := range s.graph.nodes {
		if n.watch && kind(n) && !n.pinned && n.batch == batch && s.probes(n) {
			list = append(list, n)
		}
	}
	return batch, list
}

// costs tells whether stopping the node would remove probes that nobody else wants.
func (s *Search) costs(n *node) bool {
	for _, k := range n.hyp.keys(n.focus) {
		if c, on := s.active[k]; on && c.tier != grid.TierKernel && s.wanted(k, n) == 0 {
			return true
		}
	}
	return false
}

// probes tells whether the node is measured with probes: what the kernel keeps anyway costs nothing.
func (s *Search) probes(n *node) bool {
	for _, k := range n.hyp.keys(n.focus) {
		if c, on := s.active[k]; on && c.tier != grid.TierKernel {
			return true
		}
	}
	return false
}

// wanted counts the watched nodes other than n that need the pair.
func (s *Search) wanted(key grid.PairKey, n *node) int {
	count := 0
	for _, m := range s.graph.nodes {
		if m == n || !m.watch {
			continue
		}
		for _, k := range m.hyp.keys(m.focus) {
			if k == key {
				count++
			}
		}
	}
	return count
}

// stopForCost stops a node and corrects the prices of its own pairs: by a factor, and to its share of the excess at least.
func (s *Search) stopForCost(n *node, factor, share float64) {
	n.watch = false
	for _, k := range n.hyp.keys(n.focus) {
		if s.wanted(k, nil) > 0 {
			continue
		}
		if tag, ok := s.prices[k]; ok {
			tag.bump = max(tag.bump, 1) * factor
			tag.least = max(tag.least, share)
			s.prices[k] = tag
		}
	}
	if n.state == Testing {
		n.state, n.reason = Queued, "stopped: it cost more than predicted"
		return
	}
	n.reason = "not watched any longer: it cost more than predicted"
}

// fail gives a node that cannot be measured the state that the error says.
func (s *Search) fail(n *node, err error, now float64) {
	n.watch = false
	n.reason = printable(err.Error())
	switch kindOf(err) {
	case Deferred:
		n.backoff = min(max(2*n.backoff, firstBackoff), maxBackoff)
		n.wakeAt = now + n.backoff
		if n.state == True {
			return // its answer stands; it is watched again when there is room
		}
		if n.state != Deferred {
			s.say(n, "deferred: %s", n.reason)
		}
		n.state = Deferred
		s.forget(n)
	case Never:
		n.state, n.reason = Never, unmeasured(err)+": "+n.reason
		s.say(n, "%s", n.reason)
		n.lookPast()
	default:
		n.state = Refused
		s.say(n, "refused: %s", n.reason)
		n.lookPast()
	}
}

// lookPast has the callees of a function tested that cannot be measured itself: that rules nothing out.
func (n *node) lookPast() {
	st := step{h: grid.Code}
	if n.axis == "where" && n.via == grid.Code && n.hyp.Additive() && !n.walked(st) && len(n.trueParents()) > 0 {
		n.ask(st)
	}
}

// forget drops the prices of a node that carry an error, so that they are asked for again.
func (s *Search) forget(n *node) {
	for _, k := range n.hyp.keys(n.focus) {
		if s.prices[k].err != nil {
			delete(s.prices, k)
		}
	}
}

// forgive lowers what experience added to the prices of a node's pairs, and tells whether there was something to lower.
func (s *Search) forgive(n *node) bool {
	lowered := false
	for _, k := range n.hyp.keys(n.focus) {
		if tag := s.prices[k]; tag.bump > 1 || tag.least > 0 {
			tag.bump, tag.least = max(tag.bump/4, 1), tag.least/4
			if tag.least < s.cfg.Budget/10 {
				tag.least = 0
			}
			s.prices[k], lowered = tag, true
		}
	}
	return lowered
}

// overBudget marks a node that alone costs more than the budget, or for which there was no room. It is judged by stack
// samples where they say something (judgeSamples), now and as long as the search runs. A hypothesis of the first level that
// experience made too expensive is tried again: the search is blind without it.
func (s *Search) overBudget(n *node, now float64) {
	if n.persistent() && s.forgive(n) {
		n.again = min(max(2*n.again, maxBackoff), maxAgain)
		n.state, n.wakeAt = Deferred, now+n.again
		n.reason = fmt.Sprintf("it cost more than predicted and is tried again in %s", seconds(n.again))
		s.say(n, "%s", n.reason)
		return
	}
	n.state = OverBudget
	if n.starved {
		n.reason = fmt.Sprintf("there was no room for its %s in the budget of %s for %s", percent(n.cost), percent(s.cfg.Budget), seconds(starved))
		n.lookPast()
		return
	}
	n.reason = fmt.Sprintf("measuring it would take %s of the program's time (%s), the budget is %s", percent(n.cost), s.whatTakes(n), percent(s.cfg.Budget))
	s.say(n, "over budget: %s", n.reason)
	n.lookPast()
}

// whatTakes says by what a node's pairs take time.
func (s *Search) whatTakes(n *node) string {
	rate, points := 0.0, 0
	for _, k := range n.hyp.keys(n.focus) {
		rate += s.prices[k].price.Rate
		points += s.prices[k].price.Points
	}
	text := fmt.Sprintf("%s executions a second at %s", quantity(rate), count(points, "point", "points"))
	if kept := s.keptFor(n); kept > 0 {
		text += fmt.Sprintf("; eBPF accounting at context switches alone costs %s", percent(kept))
	}
	return text
}
