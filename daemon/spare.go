package daemon

import (
	"math"
	"time"

	"culprit/daemon/kernel"
)

// Where processors are busy, each second of ours is one that the targets lack. What need not be done soon is then done only as far as
// our own time stays below the budget's share of the machine: the account grows by the share and shrinks by what we use.

const (
	// longestCredit and longestDebt bound the account, as seconds of the share: what was long ago does not count.
	longestCredit = 2.0
	longestDebt   = 30.0
	usualBudget   = 0.02
)

// An account is what we may use of processors, and have used.
type account struct {
	at    time.Time // of the last entry
	used  time.Duration
	saved float64 // s of one processor; below 0 it is a debt
}

// enter brings the account up to date: share is of one processor, and may be more than 1.
func (a *account) enter(now time.Time, used time.Duration, share float64) {
	if !a.at.IsZero() {
		a.saved += now.Sub(a.at).Seconds()*share - (used - a.used).Seconds()
	}
	a.saved = min(max(a.saved, -longestDebt*share), longestCredit*share)
	a.at, a.used = now, used
}

// Spare is how many seconds of a processor we may use now without taking more than the budget's share of the machine, below 0 if we have
// used too many; +Inf while processors are idle.
func (d *Daemon) Spare() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	budget := d.opts.Budget
	if budget <= 0 {
		budget = usualBudget
	}
	cpus, err := kernel.OnlineCPUs()
	if err != nil {
		return math.Inf(1)
	}
	d.account.enter(time.Now(), kernel.OwnTime(), budget*float64(max(len(cpus), 1)))
	if !d.looks.busy {
		return math.Inf(1)
	}
	return d.account.saved
}
