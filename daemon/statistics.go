package daemon

import (
	"errors"
	"time"

	"culprit/daemon/kernelmeter"
	"culprit/daemon/probe"
	"culprit/daemon/target"
	"culprit/daemon/targetstats"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/pcl"
)

// Which pairs read per-thread statistics (package targetstats), and since when.

// timesRows decides whether a plan is to read per-thread statistics, and makes them ready. d.mu is held.
func (t *measured) timesRows(plan *pcl.Plan) (bool, error) {
	cpu, kept := targetstats.ReadBy(plan)
	if !cpu && !kept || !kept && t.asks(plan) && probe.MayAsk(t.Target, probe.TimingCPU) == nil {
		return false, nil
	}
	err := t.Stats.Map(t.Stops.Stop)
	if kept && err != nil {
		return false, targetstats.Refused(plan, err)
	}
	return err == nil, nil
}

// readsRows tells whether the probes of a plan would read per-thread statistics; nothing of the target is touched.
func (t *measured) readsRows(plan *pcl.Plan) bool {
	cpu, kept := targetstats.ReadBy(plan)
	return kept || cpu && !t.asks(plan) && t.mayHaveRows()
}

// mayHaveRows tells whether the target has per-thread statistics, or would as far as that is known.
func (t *measured) mayHaveRows() bool {
	switch {
	case !t.Stats.MayBeMapped():
		return false
	case t.Stats.IsMapped(), t.d.statisticsTooDear():
		return true // in the second case nobody needs to know
	}
	return t.d.programs.Open() == nil
}

// kept refuses what the kernel does not keep, or not here. d.mu is held.
func (p *part) kept() error {
	if m, ok := p.meter.(*kernelmeter.Meter); ok {
		return m.Prepare()
	}
	if !p.rows() {
		return nil
	}
	if p.plan.Kind == pcl.Kernel {
		if _, err := kernelmeter.Statistic(p.plan); err != nil {
			return err
		}
	}
	return p.needRows()
}

// needRows has the kernel keep what the part's probes read, until doesNotNeedRows.
func (p *part) needRows() (err error) {
	q := probe.Quantity(p.plan)
	p.needs, err = p.t.d.programs.Need(q, q == threadstats.OffCPU)
	if err != nil {
		return targetstats.Refused(p.plan, err)
	}
	return nil
}

// doesNotNeedRows ends needRows, if there was one.
func (p *part) doesNotNeedRows() {
	if p.needs != nil {
		p.needs()
		p.needs = nil
	}
}

// settleRows makes a pass where pairs that per-thread statistics or samples are for begin or end: the statistics tell how much there was since
// the last pass, and what lies before the beginning or behind the end is none of theirs. d.mu is held.
func (d *Daemon) settleRows(now float64, pairs map[grid.PairKey]*pair) {
	for _, p := range pairs {
		if p.tier != grid.TierProbe {
			d.pass(now)
			return
		}
	}
}

// needsRows is the answer to whoever asked for per-thread statistics where the kernel keeps none.
func (d *Daemon) needsRows() error {
	err := d.programs.Open()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, threadstats.ErrNotPermitted):
		return grid.ErrNotPermitted{What: "--backend ebpf", Help: err.Error()}
	}
	return grid.ErrUnsupported{What: "--backend ebpf", Needs: err.Error()}
}

// runsLong tells whether a thread of a target ran for long at a time until the last pass. d.mu is held.
func (d *Daemon) runsLong() bool {
	for _, t := range d.targets {
		if !t.ended && t.Threads.RunsLong() {
			return true
		}
	}
	return false
}

// own is what the daemon knows of its own work. d.mu is held when it is asked.
func (d *Daemon) own() *kernelmeter.Own {
	return &kernelmeter.Own{
		ObservedCost:  d.observed.Lately,
		PredictedCost: d.predicted,
		Dropped: func(t *target.Target) (uint64, bool) {
			if d.rings == nil || t != d.targets[0].Target {
				return 0, false
			}
			return d.rings.Lost(), true
		},
		Unmeasured: func(t *target.Target) (time.Duration, bool) {
			if !d.opts.Children || t != d.targets[0].Target {
				return 0, false
			}
			used, _ := d.childrenTimes().Unmeasured()
			return used, true
		},
	}
}
