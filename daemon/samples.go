package daemon

import (
	"errors"
	"strings"

	"culprit/daemon/estimate"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/plans"
	"culprit/daemon/sampling"
	"culprit/grid"
	"culprit/pcl"
)

// What stack samples tell of a target.

// beginProfile begins to take them. They are values where the target is sampled.
func (t *measured) beginProfile(open func(pid, hz int) (sampling.Sampler, error)) {
	c := sampling.Config{Target: t.Target, Open: open, Wakers: t.wakersOf, Unfed: t.unfed}
	if t.sampled != nil {
		c.Receiver = t.sampled
	}
	t.profile = sampling.New(c)
}

// newLookedPart makes a part of a target of which samples tell.
func newLookedPart(t *measured, s *estimate.Times, key grid.PairKey) (*part, error) {
	plan, object, err := s.Compile(key)
	if err != nil {
		return nil, err
	}
	if plan.KeptByKernel() {
		return newMeteredPart(t, plan, kernelmeter.New(t.kept, plan)), nil
	}
	return newMeteredPart(t, plan, estimate.NewMeter(s, plan, object)), nil
}

// looksAtWaits is what tells of threads that wait: the samples of a target that is only looked at, else the looks that all targets have.
func (t *measured) looksAtWaits() *estimate.Times {
	switch {
	case t.onlyLooked():
		return t.sampled
	case t.waiting == nil:
		t.waiting = estimate.OfWaits(t.Target, func(bool) error { return t.profile.CannotLook() })
		t.profile.ReceiveWaiting(t.waiting)
	}
	return t.waiting
}

// planOf is the plan of a pair in a target of either kind.
func (t *measured) planOf(key grid.PairKey) (*pcl.Plan, error) {
	if !t.estimates(key, nil) {
		return t.Compile(key)
	}
	plan, _, err := t.sampled.Compile(key)
	return plan, err
}

// onlyLooked reports whether nothing is put into the target: all that is told of its functions comes of samples.
func (t *measured) onlyLooked() bool { return t.sampled != nil && t.Seg == nil }

// sampleGo has stack samples tell what Go code of a target with probes does, as soon as there is such code.
func (t *measured) sampleGo() {
	names := t.GoObjects()
	if t.goKnown == len(names) {
		return
	}
	t.goKnown = len(names)
	t.sampleToo(plans.WhyGo)
	t.Logf("process %d: %s holds Go code, which is measured by stack samples; probes go into the rest only", t.Proc.PID(), strings.Join(names, ", "))
}

// sampleToo has stack samples tell of a target with probes what those cannot.
func (t *measured) sampleToo(why string) {
	if t.sampled != nil {
		return
	}
	t.whySampled = why
	t.sampled = estimate.Of(t.Target, func(blocked bool) error { return t.profile.Cannot(blocked) })
	if t.profile != nil {
		t.profile.Receive(t.sampled)
	}
}

// estimates reports whether a pair of a target is told by samples, and not by probes: all of those of a target that is only looked
// at, and of a target with probes what it does in Go code, or out of the reach of probes. plan is the pair's, nil where it was not compiled yet.
func (t *measured) estimates(key grid.PairKey, plan *pcl.Plan) bool {
	switch {
	case t.sampled == nil:
		return false
	case t.onlyLooked():
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
func newPartLooked(t *measured, key grid.PairKey, plan *pcl.Plan) (p *part, ok bool, err error) {
	p, err = newLookedPart(t, t.sampled, key)
	var other grid.ErrNotSampled
	if errors.As(err, &other) && !t.AllSampled(plan) {
		return nil, false, nil
	}
	return p, true, err
}

// SeenMost is the name among these of the function that was seen most often on the stacks of these processes lately; "" if none
// was.
func (d *Daemon) SeenMost(names []string, pids ...int) (most string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	best := 0.0
	for _, name := range names {
		seen := 0.0
		for _, pid := range pids {
			if t := d.byPID[pid]; t != nil {
				seen += t.profile.Seen(t.Named(name))
			}
		}
		if seen > best {
			most, best = name, seen
		}
	}
	return most
}
