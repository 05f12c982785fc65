package daemon

import (
	"errors"
	"fmt"

	"culprit/daemon/probe"
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
	case t.Stats.IsMapped(), t.d.rowsTooDear():
		return true // in the second case nobody needs to know
	}
	return t.d.programs.Open() == nil
}

// kept refuses what the kernel does not keep, or not here. d.mu is held.
func (p *part) kept() error {
	name := p.plan.KernelName
	if k, ok := p.meter.(*kernelMeter); ok && p.plan.Event != "" {
		return k.countEvents()
	}
	if p.rows() && p.plan.Kind != pcl.Kernel {
		return p.needRows()
	}
	if p.plan.Kind != pcl.Kernel || p.plan.KeptByKernel() && kernelQuantities[name] != nil {
		return nil
	}
	if _, ok := threadstats.ByName(name); !ok {
		return fmt.Errorf("metric %q: the kernel keeps no quantity %q for the parts of a program", p.plan.Pair.Metric, name)
	}
	if err := p.t.Stats.Keep(); err != nil {
		return targetstats.Refused(p.plan, err)
	}
	if err := p.tellsThreads(); err != nil {
		return err
	}
	return p.needRows()
}

// tellsThreads refuses pairs at one thread where the statistics do not say whose they are.
func (p *part) tellsThreads() error {
	if p.plan.Thread == "" || p.t.Stats.KnowsOwners() {
		return nil
	}
	return grid.ErrUnsupported{What: fmt.Sprintf("kernel(%q) of one thread of %s", p.plan.KernelName, p.t.Name), Needs: "probes, or culprit outside of the container"}
}

// needRows has the kernel keep what the part reads, until doesNotNeedRows.
func (p *part) needRows() (err error) {
	q := probe.Quantity(p.plan)
	p.needs, err = p.t.d.programs.Need(q, p.rows() && q == threadstats.OffCPU)
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
