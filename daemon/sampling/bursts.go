package sampling

import (
	"math/rand/v2"
	"time"

	"culprit/daemon/schedule"
)

// Where CPUs cannot be sampled as a whole, each thread has its own event, and its timer is set whenever the thread gets a CPU. A program that does
// nothing but switch then uses 54 % (+- 8, 95 % of 16 pairs of rounds) more CPU time for each round trip, culprit's own included. So where
// threads wait and wake very often samples are taken in bursts, so that the setting of timers stays within sampleBudget; elsewhere all the
// time. A lower rate of samples would not help: a timer is set at each switch all the same.
const (
	switchCost   = 8e-6  // s; what a switch to a thread costs more while it is sampled: 1.5 to 10 us in virtual machines
	sampleBudget = 0.005 // of one processor
	burst        = 3 * schedule.ShortestRound
	longestGap   = 3 * time.Second // so that the shares of stacks do not grow stale
	toggleCost   = 12e-6           // s; what it costs us to let an event sample, or not, measured in a virtual machine
	toggleBudget = 0.002           // of one processor
	toggleShare  = 0.01            // the same where values come of the samples
)

// bursts decides when a profile takes samples.
type bursts struct {
	until  time.Time // end of the present burst or gap
	off    bool
	budget float64 // of one processor, for beginning and ending bursts; 0 = toggleBudget
}

// next tells whether samples are to be taken now, for threads that are put on a processor so many times a second and have so many
// events.
func (b *bursts) next(now time.Time, switches float64, events int) (on bool) {
	if now.Before(b.until) {
		return !b.off
	}
	long, gap := burstFor(switches, events, b.budget)
	if b.off || gap == 0 {
		b.off, b.until = false, now.Add(long)
		return true
	}
	// The length varies, so that a program with a rhythm is not always met at the same beat.
	b.off, b.until = true, now.Add(time.Duration(float64(gap)*(0.7+0.6*rand.Float64())))
	return false
}

// burstFor is how long samples are taken, and for how long not; the gap is 0 if what sampling costs is within its budget. Of many
// events both are longer, so that switching them takes no more than a budget, in processors; 0 = toggleBudget.
func burstFor(switches float64, events int, budget float64) (long, gap time.Duration) {
	if budget == 0 {
		budget = toggleBudget
	}
	share := sampleBudget / (switches * switchCost)
	if !(share < 1) {
		return burst, 0
	}
	gap = time.Duration(min(float64(burst)*(1/share-1), float64(longestGap)))
	cycle := time.Duration(2 * float64(events) * toggleCost / budget * float64(time.Second))
	if stretch := float64(cycle) / float64(burst+gap); stretch > 1 {
		return time.Duration(stretch * float64(burst)), time.Duration(stretch * float64(gap))
	}
	return burst, gap
}
