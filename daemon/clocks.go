package daemon

import (
	"culprit/daemon/cost"
	"culprit/daemon/targetstats"
	"culprit/grid"
	"culprit/pcl"
)

// maxAsking is how many pairs are known whose probes call clock_gettime; they are priced again when there were more.
const maxAsking = 10000

// statisticsTake is what per-thread statistics of the target take while they are kept, in CPUs.
func (t *measured) statisticsTake() float64 {
	if t.ended {
		return 0
	}
	return cost.Statistics(t.Threads.Switches())
}

// statisticsTake is what they take of all targets of which they are kept. d.mu is held.
func (d *Daemon) statisticsTake() (take float64) {
	for _, t := range d.targets {
		if t.Stats.IsKept() {
			take += t.statisticsTake()
		}
	}
	return take
}

// statisticsTakeNow is what they take at present. d.mu is held.
func (d *Daemon) statisticsTakeNow() float64 {
	if !d.programs.Running() {
		return 0
	}
	return d.statisticsTake()
}

// statisticsCost is what they take as a fraction of the targets' time; 0 where targets are only sampled, with their help. d.mu is held.
func (d *Daemon) statisticsCost() float64 {
	if d.opts.Backend.Looks() {
		return 0
	}
	return d.statisticsTakeNow() / d.timeOfTargets()
}

// timeOfTargets is how much time the targets have for their work, in seconds per second, 1 at least: that of all threads that are not idle,
// and while no CPU is idle no more than that of all CPUs. d.mu is held.
func (d *Daemon) timeOfTargets() (active float64) {
	for _, t := range d.targets {
		active += t.Threads.Active()
	}
	if d.allowance.Busy() {
		active = min(active, float64(d.allowance.CPUs()))
	}
	return max(active, 1)
}

// statisticsTooDear tells that statistics of all targets would take more than the whole budget. d.mu is held.
func (d *Daemon) statisticsTooDear() bool {
	return cost.Statistics(d.switches) > d.allowance.Budget()*d.timeOfTargets()
}

// chooseClocks decides for a pair whether its probes read per-thread statistics or call clock_gettime for CPU time. It returns what statistics
// would take for it, as a fraction of the targets' time. d.mu is held.
func (d *Daemon) chooseClocks(plans []costed) (kept float64) {
	take, reads := d.statisticsTake(), false
	for _, c := range plans {
		if cpu, kernel := targetstats.ReadBy(c.plan); (cpu || kernel) && c.t.mayHaveRows() {
			reads = true
			if !c.t.Stats.IsKept() {
				take += c.t.statisticsTake()
			}
		}
	}
	if !reads {
		return 0
	}
	pair := plans[0].plan.Pair
	delete(d.asking, pair)
	clocks := cost.Clocks{Statistics: take, Budget: d.allowance.Budget(), Active: d.timeOfTargets()}
	if clocks.Matter() {
		if more, may := d.askingTakes(plans); may && clocks.Ask(more) {
			d.ask(pair)
			return 0
		}
	}
	return clocks.Share()
}

// askingTakes is how many CPUs more the probes of plans take if each calls clock_gettime. may is false if one of them must not, or if it is not
// known how often a function is called.
func (d *Daemon) askingTakes(plans []costed) (cpus float64, may bool) {
	for _, c := range plans {
		if _, kernel := targetstats.ReadBy(c.plan); kernel || c.t.Seccomp != 0 {
			return 0, false
		}
		more, known := cost.Asking(c.plan, d.prices.Each(c.plan, false), d.prices.Each(c.plan, true), &c.t.rates)
		if !known {
			return 0, false
		}
		cpus += more
	}
	return cpus, true
}

// ask notes that the probes of a pair are to call clock_gettime: also those that come later, in processes that begin.
func (d *Daemon) ask(pair grid.PairKey) {
	if d.asking == nil || len(d.asking) >= maxAsking {
		d.asking = map[grid.PairKey]bool{}
	}
	d.asking[pair] = true
}

// asks tells that a plan's probes call clock_gettime although they might read statistics.
func (t *measured) asks(plan *pcl.Plan) bool { return t.d.asking[plan.Pair] && t.Seccomp == 0 }
