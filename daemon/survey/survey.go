package survey

import (
	"errors"
	"slices"

	"culprit/daemon/kernelmeter"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/pcl"
)

// A Metric says what a metric can be in a target.
type Metric struct {
	Metric grid.Metric
	// Tiers are those that can give it somewhere: for the whole program, or for a function.
	Tiers []grid.Tier
	// Code says whether the target has the code that the metric is about: functions of its lists, the libraries of its flavor.
	Code bool
	Why  string // there is no code, or no sample tells it; "" if there is nothing to say
}

// Of says what a metric can be in a target: it compiles it for the whole program, and for a function. tells says why stack samples do not
// tell a plan; it is nil where none are taken for that.
func Of(t *target.Target, m grid.Metric, tells func(*pcl.Plan) error) Metric {
	s := Metric{Metric: m}
	var lacks error
	for _, f := range surveyed(t) {
		if t.Library.Check(m.Name, f) != nil {
			continue // not a metric of that kind of place
		}
		plan, err := t.Compile(grid.PairKey{Metric: m.Name, Focus: f})
		switch {
		case err != nil:
			lacks = err
		case plan.KeptByKernel():
			if lacks = kernelmeter.Missing(plan); lacks == nil {
				s.can(grid.TierKernel)
			}
		case plan.Kind == pcl.Void:
			s.can(grid.TierProbe) // at a place that is chosen further down
		case plan.Samples != "":
			s.can(grid.TierSample)
		case len(plan.Requests) > 0:
			s.can(grid.TierProbe)
			s.sampled(plan, tells)
		}
	}
	s.Code = len(s.Tiers) > 0
	switch {
	case s.Code:
	case lacks != nil:
		s.Why = lacks.Error()
	default:
		s.Why = "the program has none of the functions that it is about"
	}
	return s
}

func (s *Metric) can(t grid.Tier) {
	if !slices.Contains(s.Tiers, t) {
		s.Tiers = append(s.Tiers, t)
	}
}

// sampled adds the sample tier if samples tell the plan. Why they do not is kept where it is not the metric's own fault.
func (s *Metric) sampled(plan *pcl.Plan, tells func(*pcl.Plan) error) {
	if tells == nil {
		return
	}
	err := tells(plan)
	var other grid.ErrNotSampled
	switch {
	case err == nil:
		s.can(grid.TierSample)
	case !errors.As(err, &other):
		s.Why = err.Error()
	}
}

// surveyed are the foci that metrics are tried at: the whole program, and one of its functions.
func surveyed(t *target.Target) []grid.Focus {
	foci := []grid.Focus{grid.Whole()}
	for _, id := range append(t.Named("main"), t.Start()...) {
		if fn := t.Func(id); fn != nil && !t.Library.Excluded(fn.Fn.Module, fn.Fn.Name) {
			return append(foci, grid.Whole().Refine(grid.Code, fn.Fn.Module, fn.Fn.Name))
		}
	}
	return foci
}
