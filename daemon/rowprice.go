package daemon

import (
	"culprit/grid"
	"culprit/pcl"
)

// Rows cost nothing where they are read, and something wherever a thread is switched: most of all in servers that answer small requests,
// whose threads come and go a hundred thousand times a second. What is seldom called is timed for less there by asking the kernel, and the
// price of everything else has what rows take.

const (
	// rowsMatter is the share of the budget that rows must take for a pair to do without them.
	rowsMatter = 0.1
	// maxAsking is how many pairs are known that do; they are priced again when there were more.
	maxAsking = 10000
	// programsCost is what the programs that keep rows take for each time that a thread of a target is put on a processor and leaves it, as
	// the kernel itself counts it on a virtual machine: two runs where others are switched to in between.
	programsCost = 0.45e-6 // s
)

// rowsTake is what the programs that keep rows take for the target's threads while they are there, in processors.
func (t *measured) rowsTake() float64 {
	if t.ended {
		return 0
	}
	return t.Threads.Switches() * programsCost
}

// rowsTake is what they take of all targets that have rows. d.mu is held.
func (d *Daemon) rowsTake() (take float64) {
	for _, t := range d.targets {
		if t.kept.table != nil {
			take += t.rowsTake()
		}
	}
	return take
}

// rowsTakeNow is what they take at present. d.mu is held.
func (d *Daemon) rowsTakeNow() float64 {
	if !d.rows.running() {
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
	return d.looks.switches*programsCost > d.allowance.Budget()*d.timeOfTargets()
}

// settleClocks decides for a pair whether its probes are to read rows, or to ask the kernel for processor time. It returns what rows would
// take for it, as a fraction of the targets' time. d.mu is held.
func (d *Daemon) settleClocks(plans []costed) (kept float64) {
	take, reads := d.rowsTake(), false
	for _, c := range plans {
		if cpu, kernel := wantsRows(c.plan); (cpu || kernel) && c.t.mayHaveRows() {
			reads = true
			if c.t.kept.table == nil {
				take += c.t.rowsTake()
			}
		}
	}
	if !reads {
		return 0
	}
	pair := plans[0].plan.Pair
	delete(d.asking, pair)
	if take > rowsMatter*d.allowance.Budget()*d.timeOfTargets() && d.asksForLess(plans, take) {
		d.ask(pair)
		return 0
	}
	return take / d.timeOfTargets()
}

// asksForLess tells whether the probes of plans take less if each asks the kernel for processor time than rows take, by how often
// functions were called when that was counted.
func (d *Daemon) asksForLess(plans []costed, take float64) bool {
	var more float64 // ns per second
	for _, c := range plans {
		if _, kernel := wantsRows(c.plan); kernel || c.t.Seccomp != 0 {
			return false
		}
		asking, reading := d.prices.each(c.plan, false), d.prices.each(c.plan, true)
		for i := range c.plan.Requests {
			rate, ok := c.t.rates[c.plan.Requests[i].Func]
			if !ok {
				return false
			}
			more += rate.perSecond * (asking[i] - reading[i]) * inProgram(c.plan)
		}
	}
	return more/1e9 < take
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
