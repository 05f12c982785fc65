package consultant

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"culprit/consultant/budget"
	"culprit/consultant/explain"
)

// Which candidates are begun. The candidates ask the budget, in their order; what becomes of each is decided without
// changing anything, and then applied.

const (
	startBatch   = 64  // pairs enabled at once, so that the stop stays short
	fewAtOnce    = 2   // candidates of little promise begun at once while CPUs are busy: what they take is known only later
	starvedAfter = 3.0 // s of waiting for budget until stack samples are asked
)

// A request is what a candidate asks of the budget.
type request struct {
	n         *node
	needless  string  // why its test is needless now, "" if it is not
	wider     []*node // if one of these is being tested, it waits for the answer
	promising bool    // worth its CPU time
	postponed bool    // there is no CPU time for it
	cost      budget.Cost
	known     bool    // the cost is known
	err       error   // why it cannot be measured
	shares    bool    // the shared cost is paid when it is begun
	waited    float64 // s since its values were wanted first
	estimable bool    // stack samples can judge it instead
}

// An action is what becomes of a request.
type action int

const (
	toBegin action = iota
	toSkip
	toPostpone // there is no CPU time
	toBlock    // there is no budget now
	toFail     // it cannot be measured
	toExceed   // it will never fit into the budget
	toStarve   // it has waited long enough; stack samples judge it
)

// A decision is what becomes of a request, and why if it goes on waiting.
type decision struct {
	request
	action
	reason string
}

// A batch is what was decided at once.
type batch struct {
	decisions []decision
	room      budget.Room // what is left
	blocked   int         // requests that wait for budget
	lacking   float64     // of the limit, for the one that lacks least
}

// choose goes over requests in their order and takes from the room what is begun. few is how many of little promise may be
// begun. It changes nothing: a request whose cost is not known, or that waits for a wider node, gets no decision.
func choose(requests iter.Seq[request], room budget.Room, few int) batch {
	b := batch{room: room, lacking: math.Inf(1)}
	begun, pairs := map[*node]bool{}, 0
	for r := range requests {
		if pairs >= startBatch {
			break
		}
		if r.waits(begun) {
			continue
		}
		d := decision{request: r}
		ok, lacking := b.room.Admit(r.cost, 1)
		more := r.cost.More(b.room.Paid)
		switch {
		case r.needless != "":
			d.action, d.reason = toSkip, r.needless
		case r.postponed || few == 0 && !r.promising:
			d.action, d.reason = toPostpone, "postponed: CPUs are busy and the search has used up its CPU allowance"
		case !r.known:
			continue
		case r.err != nil:
			d.action = toFail
		case more > room.Limit:
			d.action = toExceed
		case !ok && r.waited > starvedAfter && r.estimable:
			d.action = toStarve
		case !ok || b.room.Full(len(r.n.pairs)):
			d.action = toBlock
			d.reason = fmt.Sprintf("waits for budget: %s are used, it needs %s more of %s", explain.Percent(b.room.Load), explain.Percent(more), explain.Percent(room.Limit))
			b.blocked++
			b.lacking = min(b.lacking, lacking)
		default:
			b.room.Take(r.cost, len(r.n.pairs), r.shares)
			begun[r.n] = true
			pairs += len(r.n.pairs)
			if !r.promising {
				few--
			}
		}
		b.decisions = append(b.decisions, d)
	}
	return b
}

// waits tells that a wider node is being tested, or is begun just now.
func (r request) waits(begun map[*node]bool) bool {
	return r.needless == "" && slices.ContainsFunc(r.wider, func(w *node) bool { return w.state == Testing || begun[w] })
}

// pick begins the candidates that fit into the budget.
func (s *Search) pick(now float64) {
	if !s.budget.MayStart(now) {
		s.slowed(len(s.candidates(now)), s.budget.Load(now))
		return
	}
	few := math.MaxInt
	if s.budget.Busy() {
		few = fewAtOnce
	}
	b := choose(s.requests(now), s.budget.Room(now), few)
	s.apply(b, now)
	s.slowed(b.blocked, b.room.Load)
	if b.blocked > 0 {
		s.release(b.lacking)
		return
	}
	s.rewatch(now, b.room)
}

// requests are those of the candidates, in their order.
func (s *Search) requests(now float64) iter.Seq[request] {
	return func(yield func(request) bool) {
		for _, n := range s.candidates(now) {
			if !yield(s.request(n, now)) {
				return
			}
		}
	}
}

func (s *Search) request(n *node, now float64) request {
	r := request{n: n, needless: s.needless(n), promising: n.isPromising(), postponed: s.isPostponed(n)}
	if r.needless != "" {
		return r
	}
	if n.isPart() {
		r.wider = s.wider(n)
	}
	if r.postponed {
		return r
	}
	r.cost, r.known, r.err = s.budget.Predict(n.pairs)
	r.shares = r.cost.Shared > 0 || slices.ContainsFunc(n.trueParents(), func(p *node) bool {
		return p.suspended && s.budget.SharedOf(p.pairs) > 0
	})
	r.estimable = n.weight > 0 && n.hyp.Sampled() && !n.persistent()
	if n.triedAt > 0 {
		r.waited = now - n.triedAt
	}
	return r
}

// apply does what was decided.
func (s *Search) apply(b batch, now float64) {
	s.batch++
	for _, d := range b.decisions {
		n := d.n
		switch d.action {
		case toSkip:
			n.skip(d.reason)
			continue
		case toPostpone:
			n.postpone(d.reason, now)
			continue
		}
		n.cost = d.cost.Total()
		if n.triedAt == 0 {
			n.triedAt = now
		}
		switch d.action {
		case toBegin:
			s.begin(n, now)
		case toBlock:
			n.reason = d.reason
		case toFail:
			s.fail(n, d.err, now)
		case toStarve:
			n.starved = true
			s.overBudget(n, now)
		case toExceed:
			s.overBudget(n, now)
		}
	}
}

// begin starts the experiment of a node; its pairs are enabled by the next batch. Answers that were suspended are watched
// beside it, since it is compared with them.
func (s *Search) begin(n *node, now float64) {
	n.begin(s.batch, now)
	for _, p := range n.trueParents() {
		if p.suspended {
			p.watchAgain(s.batch, now)
		}
	}
}

// postpone notes that a candidate waits for CPU time.
func (n *node) postpone(reason string, now float64) {
	if n.postponedAt == 0 {
		n.postponedAt = now
	}
	n.reason = reason
}

// isPostponed tells that a candidate is not started now since there is no CPU time for it. A hypothesis at a place that is
// known to be of interest, what stack samples promise, and what the user asks for, never wait.
func (s *Search) isPostponed(n *node) bool { return !n.isPromising() && s.budget.Postpones(n.cool) }

// isPromising tells that a candidate is worth its CPU time, as far as that can be known.
func (n *node) isPromising() bool {
	return n.byHand || n.pinned || n.axis == "why" || n.hot || n.state != Queued
}

// slowed tells once that the search has to wait for budget, and once that it goes on.
func (s *Search) slowed(blocked int, load float64) {
	s.blocked = blocked
	if slow := blocked > 0; slow != s.slow {
		s.slow = slow
		if slow {
			s.say(nil, "search slowed: %s, %s", s.spent(load), explain.Count(blocked, "candidate waits", "candidates wait"))
		} else {
			s.say(nil, "search resumed")
		}
	}
}

// spent says what of the budget is used.
func (s *Search) spent(load float64) string {
	limit := explain.Percent(s.budget.Limit())
	if now := s.cfg.now(); s.budget.OwesPauses(now) {
		return fmt.Sprintf("the program was paused for %.2f s in %.1f s, more than the budget of %s", s.budget.Paused(), now, limit)
	}
	return fmt.Sprintf("probes cost %s of the program's time, and the budget is %s", explain.Percent(load), limit)
}
