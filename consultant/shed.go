package consultant

import (
	"math"
	"slices"

	"culprit/consultant/explain"
	"culprit/consultant/priority"
	"culprit/grid"
)

// What is stopped when the observed cost exceeds the budget.

// excessFactor is by how much more than the excess says the prices of what is stopped are raised, where nobody knows which probes took it.
const excessFactor = 1.5

// shed stops what costs too much, and corrects its prices: the predictions were wrong. A pair that alone takes several times the budget is stopped at
// once. Else those go that cost most for what they may tell, or what was started last where they do not explain the excess.
func (s *Search) shed(now float64) {
	if keys := s.budget.Runaways(s.worth(false)); len(keys) > 0 {
		stopped, taken := s.stopPairs(keys)
		s.budget.Shed(now)
		s.say(nil, "probes that run more often than predicted took %s of the program's time: %s stopped", explain.Percent(min(taken, 1)),
			explain.Count(stopped, "experiment", "experiments"))
		return
	}
	excess := s.budget.Excess(now)
	if excess == 0 {
		return
	}
	if stopped := s.shedExcess(excess); stopped > 0 {
		s.budget.Shed(now)
		s.say(nil, "observed cost %s exceeds the budget of %s: %s stopped", explain.Percent(min(s.budget.Observed(), 1)), explain.Percent(s.budget.Limit()),
			explain.Count(stopped, "experiment", "experiments"))
	}
}

// shedExcess stops what explains an excess, and returns how many experiments that were. The hypotheses of the first level go only when nothing else is left.
func (s *Search) shedExcess(excess float64) (stopped int) {
	for _, persistent := range []bool{false, true} {
		if keys := s.budget.Dearest(excess, s.worth(persistent)); len(keys) > 0 {
			stopped, _ = s.stopPairs(keys)
			return stopped
		}
		if list := s.latest(persistent); len(list) > 0 {
			s.stopBatch(list, excess)
			return len(list)
		}
	}
	return 0
}

// worth is what pairs may tell of the nodes that need them; +Inf of one that is pinned, or of the first level unless persistent: these are not stopped.
func (s *Search) worth(persistent bool) func(grid.PairKey) float64 {
	return func(k grid.PairKey) float64 {
		most := priority.Least
		for _, n := range s.watchers(k) {
			if most = max(most, n.Worth(n.state == Testing)); n.Pinned || n.persistent() && !persistent {
				return math.Inf(1)
			}
		}
		return most
	}
}

// watchers are the watched nodes that need a pair.
func (s *Search) watchers(k grid.PairKey) (list []*node) {
	for _, n := range s.graph.watching {
		if slices.Contains(n.pairs, k) {
			list = append(list, n)
		}
	}
	return list
}

// stopPairs stops the nodes that need pairs, whose price is what they were seen to take from now on. It returns how many nodes, and what the pairs took.
func (s *Search) stopPairs(keys []grid.PairKey) (stopped int, taken float64) {
	for _, k := range keys {
		for _, n := range s.watchers(k) {
			s.stopForCost(n)
			stopped++
		}
		taken += s.budget.Seen(k)
		s.budget.Raise(k, 1, s.budget.Seen(k))
	}
	return stopped, taken
}

// latest is the batch started last among the nodes that are not pinned and use probes of their own, and those of it that use probes: those of the first
// level or the others.
func (s *Search) latest(persistent bool) (list []*node) {
	batch := 0
	for _, n := range s.graph.watching {
		if n.persistent() == persistent && !n.Pinned && n.batch > batch && s.costs(n) {
			batch = n.batch
		}
	}
	for _, n := range s.graph.watching {
		if batch > 0 && n.persistent() == persistent && !n.Pinned && n.batch == batch && s.probes(n) {
			list = append(list, n)
		}
	}
	return list
}

// stopBatch stops nodes, and raises the prices of their own pairs: by a factor, and to a share of the excess at least.
func (s *Search) stopBatch(list []*node, excess float64) {
	factor := max(2, s.budget.Observed()/s.budget.Limit()*excessFactor)
	for _, n := range list {
		s.stopForCost(n)
		for _, k := range n.pairs {
			if s.graph.users[k] == 0 {
				s.budget.Raise(k, factor, excess/float64(len(list)))
			}
		}
	}
}

// costs tells whether stopping the node would remove probes that nobody else wants.
func (s *Search) costs(n *node) bool {
	return s.budget.HasProbes(n.pairs, func(k grid.PairKey) bool { return s.graph.usedBeside(k, n) == 0 })
}

// probes tells whether the node is measured with probes: what the kernel keeps anyway costs nothing.
func (s *Search) probes(n *node) bool {
	return s.budget.HasProbes(n.pairs, func(grid.PairKey) bool { return true })
}

// stopForCost stops a node.
func (s *Search) stopForCost(n *node) {
	if n.state == Testing {
		n.stop("stopped: it cost more than predicted")
	} else {
		n.release("not watched any longer: it cost more than predicted")
	}
}
