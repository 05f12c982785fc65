package daemon

import (
	"math/rand/v2"
	"time"
)

// Sampling a thread costs a timer to be set whenever it gets a processor. Where threads wait and wake very often, samples
// are therefore taken in bursts, so that the setting of timers stays within sampleBudget; elsewhere all the time.
const (
	switchCost   = 1.5e-6 // s; what a switch to a thread costs more while it is sampled, measured in a virtual machine
	sampleBudget = 0.005  // of one processor
	burst        = 3 * lookInterval
	longestGap   = 3 * time.Second // so that the shares of stacks do not grow stale
	toggleCost   = 2e-6            // s; what it costs us to let an event sample, and not
	toggleBudget = 0.002           // of one processor
)

// bursts decides when a profile takes samples.
type bursts struct {
	until time.Time // end of the present burst or gap
	off   bool
}

// next tells whether samples are to be taken now, for threads that are put on a processor so many times a second and have so many
// events.
func (b *bursts) next(now time.Time, switches float64, events int) (on bool) {
	if now.Before(b.until) {
		return !b.off
	}
	gap := gapFor(switches, events)
	if b.off || gap == 0 {
		b.off, b.until = false, now.Add(burst)
		return true
	}
	// The length varies, so that a program with a rhythm is not always met at the same beat.
	b.off, b.until = true, now.Add(time.Duration(float64(gap)*(0.7+0.6*rand.Float64())))
	return false
}

// gapFor is how long nothing is sampled after a burst; 0 if what sampling costs is within its budget.
func gapFor(switches float64, events int) time.Duration {
	share := sampleBudget / (switches * switchCost)
	if !(share < 1) {
		return 0
	}
	gap := max(float64(burst)*(1/share-1), 2*float64(events)*toggleCost/toggleBudget*float64(time.Second)-float64(burst))
	return time.Duration(min(gap, float64(longestGap)))
}
