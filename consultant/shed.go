package consultant

import (
	"culprit/consultant/explain"
	"culprit/grid"
)

// What is stopped when the observed cost exceeds the budget.

// excessFactor is by how much more than the excess says the prices of what is stopped are raised.
const excessFactor = 1.5

// shed stops what was started last when the observed cost exceeds the budget: the predictions were wrong, so those
// prices are corrected. The hypotheses of the first level go only when nothing else is left.
func (s *Search) shed(now float64) {
	excess := s.budget.Excess(now)
	if excess == 0 {
		return
	}
	last, stop := s.latest(func(n *node) bool { return !n.persistent() })
	if last == 0 {
		last, stop = s.latest((*node).persistent)
	}
	if last == 0 {
		return
	}
	s.budget.Shed(now)
	observed, limit := s.budget.Observed(), s.budget.Limit()
	for _, n := range stop {
		s.stopForCost(n, max(2, observed/limit*excessFactor), excess/float64(len(stop)))
	}
	s.say(nil, "observed cost %s exceeds the budget of %s: %s stopped", explain.Percent(observed), explain.Percent(limit),
		explain.Count(len(stop), "experiment", "experiments"))
}

// latest finds the batch started last among the nodes of a kind that are not pinned and use probes of their own, and the
// nodes of the kind in it; 0 if there is none.
func (s *Search) latest(kind func(*node) bool) (batch int, list []*node) {
	for _, n := range s.graph.watching {
		if kind(n) && !n.pinned && n.batch > batch && s.costs(n) {
			batch = n.batch
		}
	}
	for _, n := range s.graph.watching {
		if kind(n) && !n.pinned && n.batch == batch && s.probes(n) {
			list = append(list, n)
		}
	}
	return batch, list
}

// costs tells whether stopping the node would remove probes that nobody else wants.
func (s *Search) costs(n *node) bool {
	return s.budget.HasProbes(n.pairs, func(k grid.PairKey) bool { return s.graph.usedBeside(k, n) == 0 })
}

// probes tells whether the node is measured with probes: what the kernel keeps anyway costs nothing.
func (s *Search) probes(n *node) bool {
	return s.budget.HasProbes(n.pairs, func(grid.PairKey) bool { return true })
}

// stopForCost stops a node and corrects the prices of its own pairs: by a factor, and to its share of the excess at least.
func (s *Search) stopForCost(n *node, factor, share float64) {
	if n.state == Testing {
		n.stop("stopped: it cost more than predicted")
	} else {
		n.release("not watched any longer: it cost more than predicted")
	}
	for _, k := range n.pairs {
		if s.graph.users[k] == 0 {
			s.budget.Raise(k, factor, share)
		}
	}
}
