package daemon

import (
	"culprit/daemon/estimate"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/sampling"
	"culprit/grid"
	"culprit/pcl"
)

// What stack samples tell of a target.

// beginProfile begins to take them. They are values where the target is sampled.
func (t *measured) beginProfile(open func(pid, hz int) (sampling.Sampler, error)) {
	c := sampling.Config{Target: t.Target, Open: open, Wakers: t.wakersOf}
	if t.sampled != nil {
		c.Receiver = t.sampled
	}
	t.profile = sampling.New(c)
}

// newLookedPart makes a part of a target that is only looked at.
func newLookedPart(t *measured, key grid.PairKey, owner uint64) (*part, error) {
	plan, object, err := t.sampled.Compile(key)
	if err != nil {
		return nil, err
	}
	if plan.KeptByKernel() {
		return newMeteredPart(t, plan, owner, kernelmeter.New(t.kept, plan)), nil
	}
	return newMeteredPart(t, plan, owner, estimate.NewMeter(t.sampled, plan, object)), nil
}

// planOf is the plan of a pair in a target of either kind.
func (t *measured) planOf(key grid.PairKey) (*pcl.Plan, error) {
	if !t.estimates(key, nil) {
		return t.Compile(key)
	}
	plan, _, err := t.sampled.Compile(key)
	return plan, err
}
