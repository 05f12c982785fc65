package daemon

import (
	"errors"
	"time"

	"culprit/daemon/clocks"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/probe"
	"culprit/daemon/target"
	"culprit/daemon/targetstats"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/pcl"
)

// Which pairs read per-thread statistics (package targetstats), and since when.

// newClocks chooses the clocks of the probes in all targets. d.mu is held when it is asked.
func (d *Daemon) newClocks() *clocks.Choice {
	return clocks.New(clocks.Config{Targets: d.eachTarget, Allowance: &d.allowance, Prices: &d.prices, Programs: &d.programs})
}

// eachTarget is an iter.Seq.
func (d *Daemon) eachTarget(yield func(clocks.Target) bool) {
	for _, t := range d.targets {
		if !yield(t.clocked()) {
			return
		}
	}
}

// clocked is the target as package clocks knows it.
func (t *measured) clocked() clocks.Target {
	return clocks.Target{Target: t.Target, Rates: &t.rates, Ended: t.ended}
}

// chooseClocks has the clock of a pair chosen. It returns what statistics would take for it, as a fraction of the targets' time. d.mu is held.
func (d *Daemon) chooseClocks(plans []costed) (kept float64) {
	list := make([]clocks.Plan, len(plans))
	for i, c := range plans {
		list[i] = clocks.Plan{Target: c.t.clocked(), Plan: c.plan}
	}
	return d.clocks.Choose(list)
}

// statisticsCost is what statistics take as a fraction of the targets' time; 0 where targets are only sampled, with their help. d.mu is held.
func (d *Daemon) statisticsCost() float64 {
	if d.opts.Backend.Looks() {
		return 0
	}
	return d.clocks.Taken() / d.clocks.TimeOfTargets()
}

// readsRows tells whether the probes of a plan would read per-thread statistics; nothing of the target is touched.
func (t *measured) readsRows(plan *pcl.Plan) bool { return t.d.clocks.Reads(t.Target, plan) }

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
			if d.rings == nil {
				return 0, false
			}
			return d.rings.Lost(), d.isFirst(t)
		},
		Unmeasured: func(t *target.Target) (time.Duration, bool) {
			return d.unmeasured, d.opts.Children && d.isFirst(t)
		},
	}
}

// isFirst reports whether a target is the first of those that are measured: it stands for what all have in common. d.mu is held.
func (d *Daemon) isFirst(t *target.Target) bool {
	return len(d.targets) > 0 && d.targets[0].Target == t
}
