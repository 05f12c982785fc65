package daemon

import (
	"culprit/daemon/cost"
	"culprit/daemon/targetstats"
	"culprit/grid"
	"culprit/pcl"
)

// maxAsking is how many pairs are known whose probes ask the kernel; they are priced again when there were more.
const maxAsking = 10000

// rowsTake is what the programs that keep rows take for the target's threads while they are there, in processors.
func (t *measured) rowsTake() float64 {
	if t.ended {
		return 0
	}
	return cost.Statistics(t.Threads.Switches())
}

// rowsTake is what they take of all targets that have rows. d.mu is held.
func (d *Daemon) rowsTake() (take float64) {
	for _, t := range d.targets {
		if t.Stats.IsKept() {
			take += t.rowsTake()
		}
	}
	return take
}

// rowsTakeNow is what they take at present. d.mu is held.
func (d *Daemon) rowsTakeNow() float64 {
	if !d.programs.Running() {
		return 0
	}
	return d.rowsTake()
}

// rowsCost is the observed cost of rows as a fraction of the targets' time; 0 where they are what a target is looked at with. d.mu is held.
func (d *Daemon) rowsCost() float64 {
	if d.opts.Backend.Looks() {
		return 0
	}
	return d.rowsTakeNow() / d.timeOfTargets()
}

// timeOfTargets is how much time the targets have for their work, in seconds per second, 1 at least: that of all threads that are not idle,
// and where these share full processors no more than there is of those. d.mu is held.
func (d *Daemon) timeOfTargets() (active float64) {
	for _, t := range d.targets {
		active += t.Threads.Active()
	}
	if d.allowance.Busy() {
		active = min(active, float64(d.allowance.CPUs()))
	}
	return max(active, 1)
}

// rowsTooDear tells that rows of all targets would take more than the whole budget. d.mu is held.
func (d *Daemon) rowsTooDear() bool {
	return cost.Statistics(d.switches) > d.allowance.Budget()*d.timeOfTargets()
}

// settleClocks decides for a pair whether its probes are to read rows, or to ask the kernel for processor time. It returns what rows would
// take for it, as a fraction of the targets' time. d.mu is held.
func (d *Daemon) settleClocks(plans []costed) (kept float64) {
	take, reads := d.rowsTake(), false
	for _, c := range plans {
		if cpu, kernel := targetstats.ReadBy(c.plan); (cpu || kernel) && c.t.mayHaveRows() {
			reads = true
			if !c.t.Stats.IsKept() {
				take += c.t.rowsTake()
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

// askingTakes is how many CPUs more the probes of plans take if each asks the kernel for processor time; whether they may, and it is known how
// often their functions are called.
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

// ask notes that the probes of a pair are to ask the kernel: also those that come later, in processes that begin.
func (d *Daemon) ask(pair grid.PairKey) {
	if d.asking == nil || len(d.asking) >= maxAsking {
		d.asking = map[grid.PairKey]bool{}
	}
	d.asking[pair] = true
}

// asks tells that a plan's probes ask the kernel for processor time although they might read rows.
func (t *measured) asks(plan *pcl.Plan) bool { return t.d.asking[plan.Pair] && t.Seccomp == 0 }
