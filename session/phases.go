package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"culprit/consultant"
	"culprit/session/report"
)

// Phases: what happens in one has a search of its own, beside that of the whole session. A user begins them, or the program does when it begins to
// behave otherwise.

// longestPhase bounds the name of a phase, in bytes.
const longestPhase = 60

// StartPhase begins a phase, and ends the one before: what happens from now on has a search of its own, beside that of the whole session. Without a
// name it is called by its number. The error says what is wrong with the name, or that there can be no more phases.
func (s *Session) StartPhase(name string) (report.Phase, error) {
	switch {
	case s.search == nil:
		return report.Phase{}, errNoSearch
	case len(name) > longestPhase:
		return report.Phase{}, fmt.Errorf("the name of a phase has %d bytes at most", longestPhase)
	}
	s.phasing.Lock()
	defer s.phasing.Unlock()
	name, err := s.phaseName(name)
	if err != nil {
		return report.Phase{}, err
	}
	p, err := s.grid.StartPhase(name) // first: the search takes its finer histograms
	if err != nil {
		return report.Phase{}, err
	}
	return phaseReport(s.search.StartPhase(p.Name)), nil
}

// phaseName is the name of the next phase, its number if it has none. phasing is held.
func (s *Session) phaseName(name string) (string, error) {
	taken := map[string]bool{}
	for _, p := range s.search.Phases() {
		taken[p.Name] = true
	}
	name = strings.TrimSpace(clean(name))
	if taken[name] {
		return "", fmt.Errorf("there is a phase %q already; choose another name", name)
	}
	for n := len(taken); name == "" || taken[name]; n++ {
		name = fmt.Sprint(n)
	}
	return name, nil
}

const (
	lookForPhases = time.Second // how often it is looked whether the program behaves otherwise
	fewPhases     = 3           // of them that are begun for that within fewPhasesIn
	fewPhasesIn   = 60.0        // s
)

// findPhases begins a phase where the program begins to behave otherwise, until ctx ends.
func (s *Session) findPhases(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, lookForPhases)
		s.findPhase()
	}
}

// findPhase begins a phase if the program has begun to behave otherwise. A phase that somebody has begun goes on, whatever the program does; and where
// the program changes all the time there are few phases.
func (s *Session) findPhase() {
	s.phasing.Lock()
	defer s.phasing.Unlock()
	phases := s.search.Phases()
	last := phases[len(phases)-1]
	at, because, ok := s.search.Changed(last.Start) // it sees cycles, too
	if !last.IsWhole() && last.Because == "" {
		return
	}
	if n := len(phases) - fewPhases; !ok || n > 0 && at-phases[n].Start < fewPhasesIn {
		return
	}
	name, err := s.phaseName("")
	if err != nil {
		return
	}
	if _, err := s.grid.StartPhaseAt(name, at); err != nil {
		return // there are too many
	}
	s.search.StartPhaseAt(name, at, because)
}

// inWhole leaves out what was found in phases alone.
func inWhole(found []consultant.Bottleneck) []consultant.Bottleneck {
	return slices.DeleteFunc(slices.Clone(found), func(b consultant.Bottleneck) bool { return !b.Phase.IsWhole() })
}

// phaseAnswers is what holds in each of the phases.
func (s *Session) phaseAnswers(nodes []consultant.Node, found []consultant.Bottleneck) (list []report.PhaseAnswer) {
	phases := s.search.Phases()[1:] // the first is the whole session
	if len(phases) == 0 {
		return nil
	}
	targets := s.targets()
	for _, p := range phases {
		a := report.PhaseAnswer{Phase: phaseReport(p), Because: p.Because}
		a.Bottlenecks, a.Notes = s.told(slices.DeleteFunc(slices.Clone(found), func(b consultant.Bottleneck) bool { return b.Phase.Name != p.Name }), nodes, targets)
		for i := range nodes {
			n := &nodes[i]
			switch {
			case n.Phase.Name != p.Name || !n.Focus.IsWhole() || n.Axis == "when":
			case n.State == consultant.False:
				a.RuledOut++
			case n.State != consultant.True && n.State != consultant.Pruned:
				a.Open++
			}
		}
		list = append(list, a)
	}
	return list
}

func phaseReport(p consultant.Phase) report.Phase {
	r := report.Phase{Name: clean(p.Name), Start: report.Number(p.Start)}
	if p.End != 0 {
		end := report.Number(p.End)
		r.End = &end
	}
	return r
}

func cycleReport(c consultant.Cycle) *report.Cycle {
	if c.Seconds == 0 {
		return nil
	}
	return &report.Cycle{Seconds: report.Number(c.Seconds), From: report.Number(c.From), To: report.Number(c.To), What: clean(c.What)}
}
