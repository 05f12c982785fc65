package consultant

import (
	"fmt"
	"strconv"

	"culprit/consultant/changes"
	"culprit/consultant/decide"
	"culprit/consultant/explain"
	"culprit/grid"
)

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
	return s.StartPhaseAt(name, s.cfg.now(), "")
}

// StartPhaseAt is StartPhase for a time that has passed, in s, and says what changed then.
func (s *Search) StartPhaseAt(name string, at float64, because string) Phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endPhase(at)
	if name == "" {
		name = "phase " + strconv.Itoa(len(s.phases))
	}
	p := s.addPhase(name, at)
	p.Because = because
	s.alarm.Wish()
	if because != "" {
		because = ": " + because
	}
	s.say(p.root, "phase %s begins at %s%s", name, explain.Seconds(at), because)
	return p.Phase
}

const (
	stillRead  = 5.0 // s; curves that ended before say nothing of a change that is found now
	mostCurves = 64  // that are looked through
)

// Changed tells when the program began to behave otherwise last, after a time, and what changed: a hypothesis about the whole program, or
// a place where one has held. ok is false if nothing has changed, or the program does the same again and again: then Cycle tells of it.
func (s *Search) Changed(after float64) (at float64, because string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.now()
	var nodes []*node
	var curves []changes.Source
	for _, n := range s.graph.nodes {
		if n.phase.index == 0 && (n.persistent() || n.everTrue) && n.curve.Last() >= now-stillRead && len(curves) < mostCurves {
			nodes, curves = append(nodes, n), append(curves, changes.Source{Curve: &n.curve, Whole: n.persistent(), Ready: n.hyp.Samples.About == "ready", CPU: n.hyp.Samples.About == "cpu" && !n.hyp.Samples.Ended})
		}
	}
	c, cycle, ok := changes.Told(curves, after, now)
	if cycle.Seconds > 0 {
		s.cycle = Cycle{Seconds: cycle.Seconds, From: cycle.From, To: cycle.To, What: nodes[cycle.Curve].goes("between", cycle.Low, "and", cycle.High)}.After(s.cycle)
	}
	if !ok {
		return 0, "", false
	}
	return c.At, nodes[c.Curve].goes("from", c.Before, "to", c.After), true
}

// goes says between which values a node changed.
func (n *node) goes(from string, before float64, to string, after float64) string {
	return fmt.Sprintf("%s at %s went %s %s %s %s", explain.Printable(n.hyp.Name), explain.Focus(n.focus), from, explain.Percent(before), to, explain.Percent(after))
}

// Cycle is what the program did again and again, as far as Changed has seen it; the zero value if it did not.
func (s *Search) Cycle() Cycle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cycle
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

// forget has the answer of a node be that up to the end of its phase, which has passed where the end was found in the data: what came later is of the next one.
func (n *node) forget(end float64) {
	w, enough := n.win.Until(end)
	switch {
	case !enough && (n.decidedAt > end || n.open()) && w.Len() < n.win.Len():
		n.giveUp("not tested: the phase ended")
		n.answer, n.experiment = answer{}, experiment{} // they are of the time after it
		return
	case !enough || w.Len() == n.win.Len():
		return
	}
	n.win, n.est = w, w.Estimate(n.hyp.Test)
	n.confidence = n.est.Confidence()
	c := n.est.Conclude(decide.None, 0)
	if holds := n.est.Margin > 0; n.state == Testing && c.Settled || n.decidedAt > end && (n.state == True || n.state == False) && holds != (n.state == True) {
		n.settle(holds, false, end)
	}
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
		s.graph.copies.Changed(n.id - 1)
		n.forget(now)
		switch {
		case n.open():
			n.giveUp("not tested: the phase ended")
		case n.watched || n.suspended:
			n.release(n.reason)
		}
	}
	s.say(p.root, "search for phase %s ended with the phase", p.Name)
}
