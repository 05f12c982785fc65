package daemon

import (
	"slices"
	"time"

	"culprit/daemon/cost"
	"culprit/daemon/probe"
	"culprit/daemon/program"
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
		prices[i].Shared = d.settleClocks(plans[i])
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

// learnRates counts calls for cost.Window, and then those of targets that were not asleep. d.enabling is held.
func (d *Daemon) learnRates(unknown map[*measured]map[pcl.FuncID]bool, asleep []sleeper) {
	for len(unknown)+len(asleep) > 0 {
		d.mu.Lock()
		counters := d.countCalls(unknown)
		d.mu.Unlock()
		if len(counters)+len(asleep) > 0 {
			time.Sleep(cost.Window)
		}
		d.mu.Lock()
		d.readRates(counters)
		unknown, asleep = d.woken(asleep), nil
		d.mu.Unlock()
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
			if _, _, e := t.compileToLook(k); e != nil {
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

// unknown collects the functions whose rate is not known or too old.
func (c costed) unknown(into map[*measured]map[pcl.FuncID]bool, now float64) {
	for _, r := range c.plan.Requests {
		if !c.t.has(r.Func) || c.t.rates.Fresh(r.Func, now) {
			continue
		}
		if into[c.t] == nil {
			into[c.t] = map[pcl.FuncID]bool{}
		}
		into[c.t][r.Func] = true
	}
}

// A rateCounter counts the calls of one function for a while.
type rateCounter struct {
	f     *program.Function
	part  *part
	since time.Time
}

// countCalls switches counters on at the entries of functions. What cannot be counted has rate 0: it cannot be timed either.
func (d *Daemon) countCalls(unknown map[*measured]map[pcl.FuncID]bool) (counters []rateCounter) {
	b := d.newBatch()
	for t, set := range unknown {
		for id := range set {
			f := t.Func(id)
			d.owner++
			p := newProbePart(t, callCounter(id), d.owner, probe.Options{}, false)
			if p.probes.Reserve() != nil {
				continue
			}
			t.blocks.Zero(p.probes)
			if t.reachable(&p.plan.Requests[0]) != nil || b.place(p) != nil {
				b.takeBack(p)
				continue
			}
			b.touch(p)
			b.fresh[t] = append(b.fresh[t], p)
			counters = append(counters, rateCounter{f: f, part: p})
		}
	}
	if len(counters) == 0 {
		return nil
	}
	b.run()
	for i := range counters {
		counters[i].since = time.Now()
	}
	return counters
}

// callCounter is the plan of counting a function's calls.
func callCounter(id pcl.FuncID) *pcl.Plan {
	return &pcl.Plan{Kind: pcl.Counter, Vars: []pcl.Var{{Name: "calls", Kind: pcl.Counter}},
		Requests: []pcl.Request{{Func: id, Where: pcl.Entry, Code: []pcl.Instr{{Op: pcl.OpAdd, Expr: &pcl.Expr{Op: pcl.ExConst, Value: 1}}}}}}
}

// readRates takes the counters out again.
func (d *Daemon) readRates(counters []rateCounter) {
	for _, c := range counters {
		t := c.part.t
		n := c.part.probes.Count()
		t.rates.Note(c.f.ID, float64(n)/time.Since(c.since).Seconds(), d.Now())
		d.switchOut(c.part)
	}
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
	return sum + d.rowsCost()
}

// has tells whether the target has a function.
func (t *measured) has(id pcl.FuncID) bool { return t.Func(id) != nil }
