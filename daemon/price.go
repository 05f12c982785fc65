package daemon

import (
	"slices"

	"culprit/daemon/clocks"
	"culprit/daemon/measuring"
	"culprit/grid"
	"culprit/pcl"
)

// A pricer says what pairs would take, and counts calls for that.
type pricer struct {
	*state
	passes *passes
}

// Price implements grid.Instrumenter: the calls of every function that is not known yet are counted for cost.Window. A target that sleeps
// while others run calls nothing and is left out.
func (pr *pricer) Price(keys []grid.PairKey) ([]grid.Price, []error) {
	prices, errs := make([]grid.Price, len(keys)), make([]error, len(keys))
	plans := make([][]costed, len(keys))
	pr.enabling.Lock()
	defer pr.enabling.Unlock()
	unknown := map[*measuring.Process]map[pcl.FuncID]bool{}
	running, asleep := pr.byWakefulness()
	for i, k := range keys {
		if plans[i], errs[i] = pr.compileFor(k, running); len(plans[i]) == 0 && len(asleep) > 0 {
			plans[i], errs[i] = pr.compileFor(k, asleep)
		}
		for _, c := range plans[i] {
			c.unknown(unknown, pr.Now())
		}
	}
	pr.learnRates(unknown, setAside(unknown))
	for i := range keys {
		pr.priceExecutions(plans[i])
	}
	h := pr.holdAll()
	defer h.release()
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.knowThreads(h)
	for i := range keys {
		errs[i] = pr.typed(errs[i])
		prices[i].Shared = pr.chooseClocks(plans[i])
		told := true
		for _, c := range plans[i] {
			c.t.AddPrice(&prices[i], c.plan)
			told = told && c.t.TellsWaits(c.plan)
		}
		prices[i] = pr.common.Dear.Price(keys[i], prices[i], told)
	}
	return prices, errs
}

// knowThreads makes the first pass where there was none yet: a price is a share of the time of threads, and of those nothing is known before.
// All targets are locked, and mu is held.
func (pr *pricer) knowThreads(h hold) {
	if slices.ContainsFunc(pr.targets, func(t *measuring.Process) bool { return !t.Ended() && t.Threads.Refreshed() == 0 }) {
		pr.passes.passHolding(h, pr.Now())
	}
}

// A costed plan is a pair in one target.
type costed struct {
	t    *measuring.Process
	plan *pcl.Plan
}

func (pr *pricer) compileAll(k grid.PairKey) ([]costed, error) { return pr.compileFor(k, pr.targets) }

func (pr *pricer) compileFor(k grid.PairKey, targets []*measuring.Process) (plans []costed, err error) {
	if all, _, ok := pr.serving(k); ok && pr.pairs[all] != nil {
		return nil, nil // the probe is there already
	}
	for _, t := range targets {
		if t.Ended() || !t.Covers(k.Focus) {
			continue
		}
		plan, e := compileIn(t, k)
		if e != nil {
			err = e
			continue
		}
		plans = append(plans, costed{t, plan})
	}
	switch {
	case len(plans) > 0:
		return plans, nil
	case err == nil:
		err = pr.notCovered(k.Focus)
	}
	return nil, err
}

// compileIn is the plan of a pair in a target, an empty one where it is estimated: looking costs the same whatever is looked for.
func compileIn(t *measuring.Process, k grid.PairKey) (*pcl.Plan, error) {
	t.Lock()
	defer t.Unlock()
	if err := t.CheckThread(k.Focus); err != nil {
		return nil, err
	}
	if t.Estimates(k, nil) {
		_, _, err := t.Sampled().Compile(k)
		return &pcl.Plan{Pair: k}, err
	}
	plan, err := t.Compile(k)
	if err == nil && (plan.Samples != "" || t.LooksAtWaits(k, plan)) {
		plan = &pcl.Plan{Pair: k}
	}
	return plan, err
}

// priceExecutions has it found out what an execution of the probes of plans costs, which may take a while, before others have to wait for it.
func (pr *pricer) priceExecutions(plans []costed) {
	for _, c := range plans {
		c.t.Lock()
		reads := c.t.ReadsStatistics(c.plan)
		c.t.Unlock()
		pr.common.Prices.Each(c.plan, reads)
	}
}

// predicted is the predicted cost of all pairs that are enabled. mu is held.
func (ps *passes) predicted() (sum float64) {
	for _, p := range ps.pairs {
		for _, pt := range p.parts {
			sum += pt.Ahead
		}
	}
	return sum + ps.statisticsCost()
}

// chooseClocks has the clock of a pair chosen. It returns what statistics would take for it, as a fraction of the targets' time. mu is held.
func (pr *pricer) chooseClocks(plans []costed) (kept float64) {
	list := make([]clocks.Plan, len(plans))
	for i, c := range plans {
		list[i] = clocks.Plan{Target: c.t.Clocked(), Plan: c.plan}
	}
	return pr.common.Clocks.Choose(list)
}
