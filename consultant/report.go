package consultant

import (
	"fmt"
	"strconv"
	"strings"

	"culprit/consultant/decide"
	"culprit/consultant/explain"
	"culprit/grid"
)

// Nodes copies the graph in order of ID; the root is node 1, hypothesis "top". Histories are shared and must not be
// changed.
func (s *Search) Nodes() []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Node, len(s.graph.nodes))
	unseen := map[*hypothesis]string{}
	for i, n := range s.graph.nodes {
		out[i] = n.export()
		if out[i].State == False {
			if why := s.unseen(n.hyp, unseen); why != "" {
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

// hopeless is how long nothing may be started for lack of budget or time until the search counts as settled, in seconds.
const hopeless = 10.0

// Settled tells that nothing is queued or being tested, so that waiting will not bring new answers unless the program
// changes. Nodes that are deferred or over budget do not count, nor do candidates that have waited for budget or time for ten
// seconds while nothing was being tested.
func (s *Search) Settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, queued, latest := s.cfg.now(), false, 0.0
	for _, n := range s.graph.nodes {
		judging := n.state == OverBudget && len(n.shares) > 0 && len(n.shares) < decide.ShareReadings
		if n.state == Testing || s.walks(n) || judging || n.state == Queued && n.triedAt == 0 && n.postponedAt == 0 {
			return false
		}
		queued = queued || n.state == Queued
		latest = max(latest, n.triedAt, n.postponedAt, n.started, n.decidedAt)
	}
	return !queued || now-latest > hopeless
}

// Status is one line: what is being tested now, or why the search waits.
func (s *Search) Status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err.Error()
	}
	counts := map[State]int{}
	watched, unhurried, doze, unseen := 0, 0, 0, 0
	why := map[*hypothesis]string{}
	var now *node
	for _, n := range s.graph.nodes {
		if n.isRoot() {
			continue
		}
		if n.state == False && s.unseen(n.hyp, why) != "" {
			unseen++
		} else {
			counts[n.state]++
		}
		if s.isPostponed(n) {
			unhurried++
		}
		if n.state == Testing && (now == nil || n.weight > now.weight) {
			now = n
		}
		if n.watched && n.state != Testing {
			watched++
		}
		if n.suspended {
			doze++
		}
	}
	var parts []string
	if now != nil {
		text := "testing " + now.hyp.name + " at " + explain.Focus(now.focus)
		if more := counts[Testing] - 1; more > 0 {
			text += " and " + explain.Count(more, "other", "others")
		}
		parts = append(parts, text)
	}
	if s.blocked > 0 {
		parts = append(parts, fmt.Sprintf("%s for budget: %s of %s are used",
			explain.Count(s.blocked, "candidate waits", "candidates wait"), explain.Percent(s.budget.Observed()), explain.Percent(s.budget.Limit())))
	} else if more := counts[Queued] - unhurried; more > 0 {
		parts = append(parts, strconv.Itoa(more)+" queued")
	}
	if unhurried > 0 {
		parts = append(parts, explain.Count(unhurried, "candidate waits", "candidates wait")+" until CPUs are less busy")
	}
	if counts[Deferred] > 0 {
		parts = append(parts, strconv.Itoa(counts[Deferred])+" deferred")
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing left to test")
	}
	if unseen > 0 {
		parts = append(parts, strconv.Itoa(unseen)+" cannot be ruled out")
	}
	parts = append(parts, fmt.Sprintf("%d true, %d false, watching %d", counts[True], counts[False], watched))
	if doze > 0 {
		parts[len(parts)-1] += fmt.Sprintf(", %d re-checked periodically", doze)
	}
	return strings.Join(parts, "; ")
}

// WhyNot says what the search knows of a focus: which hypotheses looked at it and with what value, or why none did.
func (s *Search) WhyNot(f grid.Focus) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var said []string
	for _, n := range s.graph.nodes {
		if n.focus == f && !n.isRoot() {
			said = append(said, n.opinion())
		}
	}
	if len(said) > 0 {
		return explain.Focus(f) + ": " + strings.Join(said, "; ")
	}
	return s.notReached(f)
}

// opinion says what one node knows.
func (n *node) opinion() string {
	name := n.hyp.name
	if n.phase.index > 0 {
		name += " (phase " + explain.Printable(n.phase.Name) + ")"
	}
	switch n.state {
	case True:
		return fmt.Sprintf("%s is true (%s), since %s", name, n.evidence(), explain.Seconds(n.sinceAt))
	case False:
		return fmt.Sprintf("%s is false (%s), concluded at %s", name, n.evidence(), explain.Seconds(n.decidedAt))
	case Testing:
		if n.est.Bins == 0 {
			return name + " is being tested, no values yet"
		}
		return fmt.Sprintf("%s is being tested (%s so far)", name, n.evidence().Value(n.est.Value))
	case Queued:
		if n.reason != "" {
			return fmt.Sprintf("%s is queued: %s", name, n.reason)
		}
		return name + " is queued"
	case OverBudget:
		return fmt.Sprintf("%s is over budget: %s", name, n.reason)
	case Never:
		return fmt.Sprintf("%s: %s", name, n.reason)
	}
	return fmt.Sprintf("%s is %s: %s", name, n.state, n.reason)
}

// notReached explains a focus that no node has, by the nodes that share its function or object or cover it.
func (s *Search) notReached(f grid.Focus) string {
	var near *node
	rank := -1
	for _, n := range s.graph.nodes {
		if n.isRoot() || n.state == Never && n.needless {
			continue
		}
		r := -1
		switch {
		case f.Covers(n.focus):
			r = 100 - depthOf(n.focus)
		case n.focus.Covers(f):
			r = depthOf(n.focus)
		}
		if n.state == True {
			r *= 2
		}
		if r > rank {
			near, rank = n, r
		}
	}
	text := explain.Focus(f) + ": no hypothesis looked at it; the search did not get there"
	if near == nil {
		return text + ", nothing was tested yet"
	}
	return fmt.Sprintf("%s. Nearest is %s: %s", text, explain.Focus(near.focus), near.opinion())
}

func depthOf(f grid.Focus) int {
	d := 0
	for h := range grid.Defined + 1 {
		d += f.Depth(h)
	}
	return d
}
