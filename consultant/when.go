package consultant

import (
	"strconv"

	"culprit/consultant/explain"
	"culprit/grid"
)

// globalPhase is the name of the phase that lasts as long as the session.
const globalPhase = "global"

// A phase is an interval with a search of its own: its nodes are judged by what happened in it alone.
type phase struct {
	Phase
	index int
	root  *node
}

// over tells that nothing more is tested in the phase.
func (p *phase) over() bool { return p.End != 0 }

// words says in which phase something is, after a name; "" for the whole session.
func (p *phase) words() string {
	if p.index == 0 {
		return ""
	}
	return " in phase " + explain.Printable(p.Name)
}

// StartPhase ends the current phase, if one was started, and starts a search of its own for what happens from now on;
// the global search goes on beside it. All hypotheses are tested again in the new phase. It may be called at any time.
// Where the grid has a current phase that began just before, its finer bins are used: start the phase in the grid first.
func (s *Search) StartPhase(name string) Phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.now()
	s.endPhase(now)
	if name == "" {
		name = "phase " + strconv.Itoa(len(s.phases))
	}
	p := s.addPhase(name, now)
	s.userActed = true
	s.say(p.root, "phase %s begins", name)
	return p.Phase
}

// addPhase creates a phase with its own root. The roots of later phases hang under the root of the global phase.
func (s *Search) addPhase(name string, start float64) *phase {
	p := &phase{Phase: Phase{Name: name, Start: start}, index: len(s.phases)}
	s.phases = append(s.phases, p)
	var parent *node
	axis := "why"
	if p.index > 0 {
		parent, axis = s.phases[0].root, "when"
	}
	p.root = s.graph.add(nodeKey{hyp: s.top, focus: grid.Whole(), phase: p}, parent, axis)
	p.root.assume()
	p.root.sinceAt = start
	p.root.ask(step{why: true})
	return p
}

// endPhase ends the newest phase unless that is the global one. What was being tested stays undecided.
func (s *Search) endPhase(now float64) {
	p := s.phases[len(s.phases)-1]
	if p.index == 0 || p.over() {
		return
	}
	p.End = now
	for _, n := range s.graph.nodes {
		if n.phase != p {
			continue
		}
		n.plan, n.asked = nil, nil
		switch {
		case n.open():
			n.giveUp("not tested: the phase ended")
		case n.watched || n.suspended:
			n.release(n.reason)
		}
	}
	s.say(p.root, "search for phase %s ended with the phase", p.Name)
}
