package consultant

import (
	"iter"
	"math"
	"slices"

	"culprit/consultant/admission"
	"culprit/consultant/explain"
	"culprit/grid"
)

// Which candidates are begun. What becomes of each is decided without changing anything, and then applied.

// fewAtOnce is how many candidates of little promise are begun at once while CPUs are busy: what they take is known only later.
const fewAtOnce = 2

type (
	request = admission.Request[*node]
	batch   = admission.Batch[*node]
)

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
	b := admission.Choose(s.requests(now), s.budget.Room(now), few)
	s.apply(b, now)
	s.slowed(b.Blocked, b.Room.Load)
	if b.Blocked > 0 {
		s.release(b.Lacking)
		return
	}
	s.rewatch(now, b.Room)
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
	r := request{Test: n, Pairs: len(n.pairs), Needless: s.needless(n), Promising: n.isPromising(), Postponed: s.postponed(n)}
	if r.Needless != "" {
		return r
	}
	if n.isPart() && !n.Held {
		r.Wider = s.wider(n)
		r.Waits = slices.ContainsFunc(r.Wider, func(w *node) bool { return w.state == Testing })
	}
	if r.Postponed != "" {
		return r
	}
	r.Cost, r.Known, r.Err = s.budget.Predict(n.pairs)
	r.Shares = r.Cost.Shared > 0 || slices.ContainsFunc(n.trueParents(), func(p *node) bool {
		return p.suspended && s.budget.SharedOf(p.pairs) > 0
	})
	r.Estimable = n.Weight > 0 && n.hyp.Sampled() && !n.persistent()
	r.Waited = n.wait.Wanted(now)
	return r
}

// apply does what was decided.
func (s *Search) apply(b batch, now float64) {
	s.batch++
	for _, d := range b.Decisions {
		n := d.Test
		switch d.Action {
		case admission.Skip:
			n.skip(d.Reason)
			continue
		case admission.Postpone:
			n.reason = d.Reason
			n.wait.Postpone(now)
			continue
		}
		n.cost = d.Cost.Total()
		n.wait.Want(now)
		switch d.Action {
		case admission.Begin:
			s.begin(n, now)
		case admission.Block:
			n.reason = d.Reason
		case admission.Fail:
			s.fail(n, d.Err, now)
		case admission.Starve:
			n.starved = true
			s.overBudget(n, now)
		case admission.Exceed:
			s.overBudget(n, now)
		}
	}
}

// begin starts the experiment of a node; its pairs are enabled by the next batch. Suspended answers are watched beside it: it is compared with them.
func (s *Search) begin(n *node, now float64) {
	n.begin(s.batch, now)
	for _, p := range n.trueParents() {
		if p.suspended {
			p.watchAgain(s.batch, now)
		}
	}
}

// postponed says why a candidate is not started now, whatever the budget is; "" if it may be. A hypothesis at a place that is known to be of interest, what
// stack samples promise, and what the user asks for, never wait.
func (s *Search) postponed(n *node) string {
	if s.lacksTime(n) {
		return admission.NoTime
	}
	return n.wait.Reason()
}

// lacksTime tells that a candidate is not started now since there is no CPU time for it. Of code stack samples tell most.
func (s *Search) lacksTime(n *node) bool {
	return !n.isPromising() && s.budget.Postpones(n.Cool && n.via == grid.Code)
}

// isPromising tells that a candidate is worth its CPU time, as far as that can be known.
func (n *node) isPromising() bool { return n.Wanted() || n.axis == "why" || n.Hot || n.state != Queued }

// slowed tells once that the search has to wait for budget, and once that it goes on.
func (s *Search) slowed(blocked int, load float64) {
	s.blocked = blocked
	if slow := blocked > 0; slow != s.slow {
		s.slow = slow
		if slow {
			s.say(nil, "search slowed: %s, %s", s.budget.Spent(load, s.cfg.now()), explain.Count(blocked, "candidate waits", "candidates wait"))
		} else {
			s.say(nil, "search resumed")
		}
	}
}
