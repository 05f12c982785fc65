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
	toggleShare  = 0.01            // of one processor, for beginning and ending bursts
)

// bursts decides when a profile takes samples.
type bursts struct {
	until  time.Time // end of the present burst or gap
	off    bool
	toggle time.Duration // what beginning a burst, or ending one, takes lately
}

// toggled notes what it took to switch sampling on or off: each thread's events are switched one by one.
func (b *bursts) toggled(took time.Duration) { b.toggle += (took - b.toggle) / 4 }

// stretch is how many times longer bursts and gaps are where switching takes long.
func (b *bursts) stretch(gap time.Duration) float64 {
	longer := float64(2*b.toggle) / (toggleShare * float64(burst+gap))
	return max(1, min(longer, float64(longestGap)/float64(max(gap, burst))))
}

// next tells whether samples are to be taken now, for threads that are put on a processor so many times a second.
func (b *bursts) next(now time.Time, switches float64) (on bool) {
	if now.Before(b.until) {
		return !b.off
	}
	gap := gapFor(switches)
	longer := b.stretch(gap)
	if b.off || gap == 0 {
		b.off, b.until = false, now.Add(time.Duration(float64(burst)*longer))
		return true
	}
	gap = time.Duration(float64(gap) * longer)
	// The length varies, so that a program with a rhythm is not always met at the same beat.
	b.off, b.until = true, now.Add(time.Duration(float64(gap)*(0.7+0.6*rand.Float64())))
	return false
}

// gapFor is how long nothing is sampled after a burst; 0 if what sampling costs is within its budget.
func gapFor(switches float64) time.Duration {
	share := sampleBudget / (switches * switchCost)
	if !(share < 1) {
		return 0
	}
	return time.Duration(min(float64(burst)*(1/share-1), float64(longestGap)))
}
