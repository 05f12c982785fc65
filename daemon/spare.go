package daemon

import (
	"math"
	"slices"
	"time"

	"culprit/daemon/kernel"
)

// Where processors are busy, each second of ours is one that the targets lack, and more: whoever takes the processor from one of several
// processes that work hand in hand makes the others wait as well. What need not be done soon is then done only as far as what the targets
// lose by all that we take stays below the budget's share of the machine: by our own time, that of probes in the targets, and that of the
// programs that keep rows in the kernel. The account grows by the share, and shrinks by what we take while processors are busy: the first
// seconds, in which most is done, are repaid in the minutes that follow.

const (
	// longestCredit and longestDebt bound the account, as seconds of the share: what was long ago does not count.
	longestCredit = 2.0
	longestDebt   = 120.0
	usualBudget   = 0.02
	// lossFactor is how much more than what we take full processors lose of their work: 2.5 to 4 times as much, with a server and its
	// clients on two of them, by whoever takes it. The account has the most that it may be: a promise is kept at the end of its range too.
	lossFactor = 4.0
	// programsCost is what the programs that keep rows take for each time that a thread of a target is put on a processor and leaves it, as
	// the kernel itself counts it on a virtual machine: two runs where others are switched to in between.
	programsCost = 0.45e-6 // s
)

// An account is what we may use of processors, and have used.
type account struct {
	at    time.Time // of the last entry
	used  time.Duration
	saved float64 // s of one processor; below 0 it is a debt
}

// enter brings the account up to date: share is of one processor, and may be more than 1. What is used while processors are idle costs
// nobody anything.
func (a *account) enter(now time.Time, used time.Duration, share float64, busy bool) {
	if !a.at.IsZero() {
		a.saved += now.Sub(a.at).Seconds() * share
		if busy {
			a.saved -= (used - a.used).Seconds()
		}
	}
	a.saved = min(max(a.saved, -longestDebt*share), longestCredit*share)
	a.at, a.used = now, used
}

// Spare is how many seconds of a processor we may use now without costing the targets more than the budget's share of the machine, below 0
// if we have used too many; +Inf while processors are idle.
func (d *Daemon) Spare() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	cpus, err := kernel.OnlineCPUs()
	if err != nil {
		return math.Inf(1)
	}
	d.account.enter(time.Now(), kernel.OwnTime()+d.inTargets(), d.budget()*float64(max(len(cpus), 1))/lossFactor, d.demand.busy)
	if !d.demand.busy {
		return math.Inf(1)
	}
	return d.account.saved
}

// mustSave tells that processors are busy, and that we have cost the targets more than we may. d.mu is held.
func (d *Daemon) mustSave() bool { return d.demand.busy && d.account.saved < 0 }

// isStill tells that we must save, and that there is no probe and no row by which something is measured: the search waits, and what goes on
// is only watched. d.mu is held.
func (d *Daemon) isStill() bool {
	if !d.mustSave() {
		return false
	}
	for _, p := range d.pairs {
		if slices.ContainsFunc(p.parts, (*part).isMeasured) {
			return false
		}
	}
	return true
}

// isMeasured tells that the part is more than what the kernel keeps for everybody.
func (pt *part) isMeasured() bool {
	return len(pt.sites) > 0 || pt.needs || pt.rows || pt.estimate != nil
}

// inTargets is what probes and the kernel's programs have taken of the targets' processors so far. d.mu is held.
func (d *Daemon) inTargets() time.Duration { return time.Duration(d.taken * float64(time.Second)) }

// accountTaken adds what was taken in an interval, of which probes took so many processors. d.mu is held.
func (d *Daemon) accountTaken(interval, probes float64) {
	d.taken += interval * (probes + d.rowsTakeNow())
}

// budget is the share of the machine that we may cost where processors are busy, and of a target's time that probes may.
func (d *Daemon) budget() float64 {
	if d.opts.Budget > 0 {
		return d.opts.Budget
	}
	return usualBudget
}
