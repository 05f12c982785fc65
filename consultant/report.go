package consultant

import (
	"culprit/consultant/decide"
	"culprit/consultant/explain"
	"culprit/consultant/lifecycle"
)

// Nodes copies the graph in order of ID; the root is node 1, hypothesis "top". Histories are shared and must not be changed.
func (s *Search) Nodes() []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes()
}

func (s *Search) nodes() []Node {
	out, unseen := s.graph.copies.All(len(s.graph.nodes), func(i int, out *Node) bool { return s.graph.nodes[i].export(out) }), map[*hypothesis]string{}
	for i := range out {
		if out[i].State == False {
			if why := s.unseen(s.graph.nodes[i].hyp, unseen); why != "" {
				out[i].State, out[i].Reason = Testing, why
			}
		}
	}
	return out
}

// unseen says what of a hypothesis's metrics cannot be seen; each is asked for once.
func (s *Search) unseen(h *hypothesis, known map[*hypothesis]string) string {
	why, ok := known[h]
	if ok {
		return why
	}
	for _, m := range h.Metrics {
		if why == "" {
			why = s.cfg.World.Unseen(m)
		}
	}
	known[h] = why
	return why
}

// Phases copies the list of phases; the first is the global one.
func (s *Search) Phases() []Phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Phase, len(s.phases))
	for i, p := range s.phases {
		out[i] = p.Phase
	}
	return out
}

// settledAfter is how long nothing may be started for lack of budget or time until the search counts as settled, in seconds.
const settledAfter = 10.0

// Settled tells that nothing is queued or being tested, so that waiting will not bring new answers unless the program changes. Nodes that are deferred or over
// budget do not count, nor do candidates that have waited for budget or time for ten seconds while nothing was being tested.
func (s *Search) Settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, queued, latest := s.cfg.now(), false, 0.0
	for _, n := range s.graph.nodes {
		judging := n.isSampled() && len(n.shares) > 0 && len(n.shares) < decide.MostShares
		if n.state == Testing || s.canExpand(n) || judging || n.state == Queued && n.wait.Since() == 0 {
			return false
		}
		queued = queued || n.state == Queued
		latest = max(latest, n.wait.Since(), n.started, n.decidedAt)
	}
	return !queued || now-latest > settledAfter
}

// Status is one line: what is being tested now, or why the search waits.
func (s *Search) Status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err.Error()
	}
	return s.status().String()
}

func (s *Search) status() explain.Status {
	out := explain.Status{Blocked: s.blocked, Observed: s.budget.Observed(), Limit: s.budget.Limit()}
	why, in := map[*hypothesis]string{}, lifecycle.Counts{}
	var first *node
	for _, n := range s.graph.nodes[1:] {
		if in.Add(n.state); n.state == Testing && (first == nil || n.Weight > first.Weight) {
			first = n
		}
		if n.state == False && s.unseen(n.hyp, why) != "" {
			out.Unseen++
		}
		if s.lacksTime(n) {
			out.Postponed++
		}
		if n.watched && n.state != Testing {
			out.Watched++
		}
		if n.suspended {
			out.Suspended++
		}
		if n.isRoot() {
			in.True-- // by definition
		}
	}
	out.Tested, out.Queued, out.Deferred, out.True, out.False = in.Testing, in.Queued, in.Deferred, in.True, in.False-out.Unseen
	if first != nil {
		out.Testing = first.hyp.Name + " at " + explain.Focus(first.focus)
	}
	return out
}
