package daemon

import (
	"errors"
	"slices"

	"culprit/daemon/kernelmeter"
	"culprit/grid"
	"culprit/pcl"
)

// What can be measured of a target, asked without putting anything into it.

// A MetricSurvey says what a metric can be in a target.
type MetricSurvey struct {
	Metric grid.Metric
	// Tiers are those that can give it somewhere: for the whole program, or for a function.
	Tiers []grid.Tier
	// Code says whether the target has the code that the metric is about: functions of its lists, the libraries of its flavor.
	Code bool
	Why  string // there is no code, or no sample tells it; "" if there is nothing to say
}

// Survey says of every metric of the library what it can be in the targets. It takes the first target that has something to say.
func (d *Daemon) Survey() (list []MetricSurvey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.session.Library.Metrics() {
		s := MetricSurvey{Metric: m}
		for _, t := range d.targets {
			if !t.ended && !s.Code {
				s = t.survey(m)
			}
		}
		list = append(list, s)
	}
	return list
}

// survey compiles the metric for the whole program, and for a function.
func (t *measured) survey(m grid.Metric) MetricSurvey {
	s := MetricSurvey{Metric: m}
	var lacks error
	for _, f := range t.surveyed() {
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
		case len(plan.Requests) > 0:
			s.can(grid.TierProbe)
			s.sampled(t, plan)
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

func (s *MetricSurvey) can(t grid.Tier) {
	if !slices.Contains(s.Tiers, t) {
		s.Tiers = append(s.Tiers, t)
	}
}

// sampled adds the sample tier if samples tell the plan. Why they do not is kept where it is not the metric's own fault.
func (s *MetricSurvey) sampled(t *measured, plan *pcl.Plan) {
	if t.sampled == nil {
		return
	}
	err := t.sampled.Tells(plan)
	var other grid.ErrNotSampled
	switch {
	case err == nil:
		s.can(grid.TierSample)
	case !errors.As(err, &other):
		s.Why = err.Error()
	}
}

// surveyed are the foci that metrics are tried at: the whole program, and one of its functions.
func (t *measured) surveyed() []grid.Focus {
	foci := []grid.Focus{grid.Whole()}
	for _, id := range append(t.Named("main"), t.Start()...) {
		if fn := t.Func(id); fn != nil && !t.Library.Excluded(fn.Fn.Module, fn.Fn.Name) {
			return append(foci, grid.Whole().Refine(grid.Code, fn.Fn.Module, fn.Fn.Name))
		}
	}
	return foci
}

// ListOpen makes everything that the targets have open now a resource: files, sockets, pipes. Otherwise they become known when
// somebody waits for them.
func (d *Daemon) ListOpen() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, t := range d.targets {
		if t.ended {
			continue
		}
		if _, err := t.Proc.Descriptors(); err != nil {
			errs = append(errs, err)
			continue
		}
		t.Files.Look(d.Now())
	}
	return errors.Join(errs...)
}
