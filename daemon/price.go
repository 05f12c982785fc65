package daemon

import (
	"slices"

	"culprit/daemon/cost"
	"culprit/grid"
	"culprit/pcl"
)

// Price implements grid.Instrumenter: the calls of every function that is not known yet are counted for cost.Window. A target that sleeps
// while others run calls nothing and is left out.
func (d *Daemon) Price(keys []grid.PairKey) ([]grid.Price, []error) {
	prices, errs := make([]grid.Price, len(keys)), make([]error, len(keys))
	plans := make([][]costed, len(keys))
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	unknown := map[*measured]map[pcl.FuncID]bool{}
	running, asleep := d.byWakefulness()
	for i, k := range keys {
		if plans[i], errs[i] = d.compileFor(k, running); len(plans[i]) == 0 && len(asleep) > 0 {
			plans[i], errs[i] = d.compileFor(k, asleep)
		}
		for _, c := range plans[i] {
			c.unknown(unknown, d.Now())
		}
	}
	aside := setAside(unknown)
	d.mu.Unlock()
	d.learnRates(unknown, aside)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.knowThreads()
	for i := range keys {
		prices[i].Shared = d.chooseClocks(plans[i])
		for _, c := range plans[i] {
			d.add(&prices[i], c)
		}
	}
	return prices, errs
}

// knowThreads makes the first pass where there was none yet: a price is a share of the time of threads, and of those nothing is known before.
// d.mu is held.
func (d *Daemon) knowThreads() {
	if slices.ContainsFunc(d.targets, func(t *measured) bool { return !t.ended && t.Threads.Refreshed() == 0 }) {
		d.pass(d.Now())
	}
}

// A costed plan is a pair in one target.
type costed struct {
	t    *measured
	plan *pcl.Plan
}

func (d *Daemon) compileAll(k grid.PairKey) ([]costed, error) { return d.compileFor(k, d.targets) }

func (d *Daemon) compileFor(k grid.PairKey, targets []*measured) (plans []costed, err error) {
	if all, _, ok := d.serving(k); ok && d.pairs[all] != nil {
		return nil, nil // the probe is there already
	}
	for _, t := range targets {
		if t.ended || !t.Covers(k.Focus) {
			continue
		}
		if e := t.CheckThread(k.Focus); e != nil {
			err = e
			continue
		}
		if t.estimates(k, nil) { // looking costs the same whatever is looked for
			if _, _, e := t.sampled.Compile(k); e != nil {
				err = e
				continue
			}
			plans = append(plans, costed{t, &pcl.Plan{Pair: k}})
			continue
		}
		p, e := t.Compile(k)
		if e != nil {
			err = e
			continue
		}
		if p.Samples != "" {
			p = &pcl.Plan{Pair: k}
		}
		plans = append(plans, costed{t, p})
	}
	switch {
	case len(plans) > 0:
		return plans, nil
	case err == nil:
		err = d.notCovered(k.Focus)
	}
	return nil, err
}

// add adds to a price what a pair would take in one target. d.mu is held.
func (d *Daemon) add(price *grid.Price, c costed) {
	cost.Add(price, c.plan, d.prices.Each(c.plan, c.t.readsRows(c.plan)), &c.t.rates, c.t.Threads.Active(), c.t.has)
}

// predict is the share of the target's active time that a part will use by what is known of how often its functions are
// called; what was never counted adds nothing. d.mu is held.
func (d *Daemon) predict(p *part) float64 {
	var price grid.Price
	d.add(&price, costed{p.t, p.plan})
	return price.Fraction
}

// predicted is the predicted cost of all pairs that are enabled. d.mu is held.
func (d *Daemon) predicted() (sum float64) {
	for _, p := range d.pairs {
		for _, pt := range p.parts {
			sum += pt.ahead
		}
	}
	return sum + d.statisticsCost()
}

// has tells whether the target has a function.
func (t *measured) has(id pcl.FuncID) bool { return t.Func(id) != nil }
