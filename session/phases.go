package session

import (
	"fmt"
	"slices"
	"strings"

	"culprit/consultant"
	"culprit/session/report"
)

// Phases that a user begins: what happens in one has a search of its own, beside that of the whole session.

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
	taken := map[string]bool{}
	for _, p := range s.search.Phases() {
		taken[p.Name] = true
	}
	name = strings.TrimSpace(clean(name))
	if taken[name] {
		return report.Phase{}, fmt.Errorf("there is a phase %q already; choose another name", name)
	}
	for n := len(taken); name == "" || taken[name]; n++ {
		name = fmt.Sprint(n)
	}
	p, err := s.grid.StartPhase(name) // first: the search takes its finer histograms
	if err != nil {
		return report.Phase{}, err
	}
	return phaseReport(s.search.StartPhase(p.Name)), nil
}

// inWhole leaves out what was found in phases that somebody has begun.
func inWhole(found []consultant.Bottleneck) []consultant.Bottleneck {
	return slices.DeleteFunc(slices.Clone(found), func(b consultant.Bottleneck) bool { return !b.Phase.IsWhole() })
}

// phaseAnswers is what holds in each of the phases that somebody has begun.
func (s *Session) phaseAnswers(nodes []consultant.Node, found []consultant.Bottleneck) (list []report.PhaseAnswer) {
	phases := s.search.Phases()[1:] // the first is the whole session
	if len(phases) == 0 {
		return nil
	}
	targets := s.targets()
	for _, p := range phases {
		a := report.PhaseAnswer{Phase: phaseReport(p)}
		a.Bottlenecks, a.Notes = s.told(slices.DeleteFunc(slices.Clone(found), func(b consultant.Bottleneck) bool { return b.Phase.Name != p.Name }), targets)
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
