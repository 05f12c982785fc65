package measuring

import (
	"errors"
	"strings"

	"culprit/daemon/contexts"
	"culprit/daemon/estimate"
	"culprit/daemon/kernel"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/plans"
	"culprit/daemon/program"
	"culprit/daemon/sampling"
	"culprit/grid"
	"culprit/pcl"
)

// narrows is called when that is found of a target: from now on no window of several instructions is planned.
func (t *Process) narrows() {
	t.Plans.OneInstruction(contexts.WhyOneInstruction)
	t.SampleToo(contexts.WhyOneInstruction)
}

// Account accounts for the time up to a session time in what samples tell.
func (t *Process) Account(now float64) {
	for _, s := range []*estimate.Times{t.Sampled(), t.waiting, t.runs} {
		if s != nil {
			s.Account(now)
		}
	}
}

// BeginProfile begins to take them. They are values where the target is sampled.
func (t *Process) BeginProfile() {
	c := sampling.Config{Target: t.Target, Open: t.Common.Sampler, Unfed: t.Common.Unfed,
		Wakers: func(tid int, call kernel.BlockedCall, now float64) []sampling.Waker {
			return t.Common.Wakers(t, tid, call, now)
		}}
	if t.Sampled() != nil {
		c.Receiver = t.Sampled()
	}
	t.Profile = sampling.New(c)
}

// newLookedPart makes a part of a target of which samples tell.
func newLookedPart(t *Process, s *estimate.Times, key grid.PairKey) (*Part, error) {
	plan, object, err := s.Compile(key)
	if err != nil {
		return nil, err
	}
	if plan.KeptByKernel() {
		return newMeteredPart(t, plan, kernelmeter.New(t.kept, plan)), nil
	}
	return newMeteredPart(t, plan, estimate.NewMeter(s, plan, object)), nil
}

// tells is what tells a plan that only samples do.
func (t *Process) tells(plan *pcl.Plan) *estimate.Times {
	if plan.Samples == "running" {
		return t.samplesOfRunning()
	}
	return t.looksAtWaits()
}

// samplesOfRunning is what tells of threads that run: the samples of a target that is only sampled, else those that all targets have.
func (t *Process) samplesOfRunning() *estimate.Times {
	switch {
	case t.OnlyLooked():
		return t.Sampled()
	case t.runs == nil:
		t.runs = estimate.Of(t.Target, func(n sampling.Need) error { return t.Profile.Cannot(n) })
		t.Profile.ReceiveRunning(t.runs)
	}
	return t.runs
}

// looksAtWaits is what tells of threads that wait: the samples of a target that is only looked at, else the looks that all targets have.
func (t *Process) looksAtWaits() *estimate.Times {
	switch {
	case t.OnlyLooked():
		return t.Sampled()
	case t.waiting == nil:
		t.waiting = estimate.OfWaits(t.Target, func(sampling.Need) error { return t.Profile.CannotLook() })
		t.Profile.ReceiveWaiting(t.waiting)
	}
	return t.waiting
}

// planOf is the plan of a pair in a target of either kind.
func (t *Process) planOf(key grid.PairKey) (*pcl.Plan, error) {
	if !t.Estimates(key, nil) {
		return t.Compile(key)
	}
	plan, _, err := t.Sampled().Compile(key)
	return plan, err
}

// Sampled is what samples tell of the process and no probe; nil where there is no such thing. Any goroutine may ask.
func (t *Process) Sampled() *estimate.Times { return t.sampled.Load() }

// OnlyLooked reports whether nothing is put into the target: all that is told of its functions comes of samples.
func (t *Process) OnlyLooked() bool { return t.Sampled() != nil && t.Seg == nil }

// SampleUnprobed has stack samples tell what code of a target with probes does that takes none, as soon as there is such code.
func (t *Process) SampleUnprobed() {
	names, shared := t.GoObjects(), t.SharedObjects()
	if t.unprobed == len(names)+len(shared) {
		return
	}
	t.unprobed = len(names) + len(shared)
	if len(names) > 0 {
		t.SampleToo(plans.WhyGo)
		t.Logf("process %d: %s holds Go code, which is measured by stack samples; probes go into the rest only", t.Proc.PID(), strings.Join(names, ", "))
	}
	if len(shared) > 0 {
		t.SampleToo(plans.WhyShared)
		t.Logf("process %d: %s: %s; probes go into the rest only", t.Proc.PID(), strings.Join(shared, ", "), plans.WhyShared)
	}
}

// SampleGenerated has stack samples tell what code does that a target with probes generates, as soon as it has said how that is called.
func (t *Process) SampleGenerated() {
	if !t.ReadGenerated() {
		return
	}
	t.SampleToo(program.WhyGenerated)
	t.Logf("process %d names the code that it generates, which is measured by stack samples", t.Proc.PID())
}

// SampleToo has stack samples tell of a target with probes what those cannot.
func (t *Process) SampleToo(why string) {
	if t.Sampled() != nil {
		return
	}
	t.WhySampled = why
	t.sampled.Store(estimate.Of(t.Target, func(n sampling.Need) error { return t.Profile.Cannot(n) }))
	if t.Profile != nil {
		t.Profile.Receive(t.Sampled())
	}
}

// Estimates reports whether a pair of a target is told by samples, and not by probes: all of those of a target that is only looked
// at, and of a target with probes what it does in Go code, or out of the reach of probes. plan is the pair's, nil where it was not compiled yet.
func (t *Process) Estimates(key grid.PairKey, plan *pcl.Plan) bool {
	switch {
	case t.Sampled() == nil:
		return false
	case t.OnlyLooked():
		return true
	case plan == nil:
		var err error
		if plan, err = t.Compile(key); err != nil {
			return false
		}
	}
	return !plan.KeptByKernel() && plan.Kind != pcl.Void && t.SomeSampled(plan)
}

// newPartLooked is newLookedPart for a pair of a target with probes that asks for points which it cannot have. A pair that samples do not tell
// may still have some of them (ok is false): the others are left out and listed.
func newPartLooked(t *Process, key grid.PairKey, plan *pcl.Plan) (p *Part, ok bool, err error) {
	p, err = newLookedPart(t, t.Sampled(), key)
	var other grid.ErrNotSampled
	if errors.As(err, &other) && !t.AllSampled(plan) {
		return nil, false, nil
	}
	return p, true, err
}
