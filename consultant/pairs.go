package consultant

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"culprit/grid"
)

// Which pairs are measured: those that watched nodes need.

// updatePairs enables and disables what changed, one batch each. What is not needed any longer may stay for a moment, so that
// the target is stopped less often. Where nothing is to be enabled now, which would stop it, that waits for the next batch.
func (s *Search) updatePairs(enable bool) {
	s.mu.Lock()
	add, drop := s.changes()
	if !enable {
		add = nil
	}
	if len(add) == 0 && !s.budget.MustDrop(s.cfg.now()) {
		drop = nil
	}
	s.mu.Unlock()
	if len(drop) > 0 {
		s.cells.Disable(drop...)
	}
	var results []grid.EnableResult
	if len(add) > 0 {
		results = s.cells.Enable(add...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.now() // it may have taken a while
	if len(add)+len(drop) > 0 {
		s.budget.Changed(now)
		s.beat.Acted(now)
	}
	s.budget.Disable(drop...)
	s.enabled(add, results, now)
}

// changes compares the pairs that the watched nodes need with those that are enabled.
func (s *Search) changes() (add, drop []grid.PairKey) {
	asked := map[grid.PairKey]bool{}
	for _, n := range s.graph.watching {
		for _, k := range n.pairs {
			if _, on := s.budget.Active(k); !on && !asked[k] {
				asked[k] = true
				add = append(add, k)
			}
		}
	}
	for _, k := range s.budget.ActiveKeys() {
		if s.graph.users[k] == 0 {
			drop = append(drop, k)
		}
	}
	slices.SortFunc(drop, func(a, b grid.PairKey) int { return cmp.Or(a.Focus.Compare(b.Focus), cmp.Compare(a.Metric, b.Metric)) })
	return add, drop
}

// enabled takes the answer to a batch: which pairs are measured from when on, and which nodes cannot be.
func (s *Search) enabled(add []grid.PairKey, results []grid.EnableResult, now float64) {
	failed := map[grid.PairKey]error{}
	for _, k := range add {
		failed[k] = errors.New("the grid gave no answer")
	}
	for _, r := range results {
		if _, asked := failed[r.Key]; !asked {
			continue
		}
		if failed[r.Key] = r.Err; r.Err == nil {
			s.budget.Enable(r.Key, r.Since, r.Tier, now)
		}
	}
	for _, n := range slices.Clone(s.graph.watching) {
		if !math.IsInf(n.next, 1) {
			continue
		}
		if err := firstError(n, failed); err != nil {
			s.fail(n, err, now)
			continue
		}
		s.ready(n)
	}
}

func firstError(n *node, failed map[grid.PairKey]error) error {
	for _, k := range n.pairs {
		if err := failed[k]; err != nil {
			return err
		}
	}
	return nil
}

// ready sets from when on the values of a node count: all its pairs are complete. What they recorded in the last MinObserve, or in the phase, counts too.
func (s *Search) ready(n *node) {
	n.tier, n.looked = "", nil
	from := n.phase.Start
	if n.phase.index == 0 {
		from = n.started - s.cfg.MinObserve.Seconds()
	}
	for i, k := range n.pairs {
		c, on := s.budget.Active(k)
		if !on {
			return
		}
		from = max(from, c.Since)
		switch {
		case n.hyp.Global[i] && n.hyp.Locals() > 0 && n.tier != "":
		case c.Tier == grid.TierSample && n.tier == grid.TierProbe:
			n.looked = append(n.looked, i)
		default:
			n.tier = n.tier.Weaker(c.Tier)
		}
	}
	n.next = from
}

// estimatedFrom is the part of what a node measures from which on samples limit what can be said of it, where they tell what probes do not.
const estimatedFrom = 0.1

// measuredBy is the tier that limits what can be said of the node's value.
func (n *node) measuredBy() grid.Tier {
	if len(n.looked) > 0 && n.win.Share(n.looked) > estimatedFrom {
		return grid.TierSample
	}
	return n.tier
}
