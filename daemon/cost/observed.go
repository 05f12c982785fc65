package cost

import (
	"sync"
	"time"

	"culprit/daemon/selfcost"
)

// A Pass is what one pass over all values has found.
type Pass struct {
	At         float64       // session time in seconds
	CPUs       float64       // that probes and stack samples took since the pass before
	Active     float64       // threads of all targets that were not idle
	Wanted     float64       // CPUs that they ran on or waited for
	Statistics float64       // share of the targets' time that per-thread statistics take
	Paused     time.Duration // all pauses since the attach
	Targets    int
}

// Observed is what the targets were seen to lose of their time. The zero value is ready.
type Observed struct {
	mu     sync.Mutex
	lately float64 // share of the targets' time, smoothed
	lost   float64 // of the time of each target since the attach, in seconds
	wanted float64 // seconds for which the targets ran or wanted to, on one CPU or more
	at     float64 // session time of the last pass
	paused time.Duration
}

// Since is how many seconds have passed since the last pass, at session time now.
func (o *Observed) Since(now float64) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return now - o.at
}

// Add smooths over about a second, and adds up what was lost. The cost is a fraction of the time that the targets were active. A pass that
// comes sooner than is usual counts for less.
func (o *Observed) Add(p Pass) {
	usual := selfcost.ShortestInterval.Seconds()
	o.mu.Lock()
	defer o.mu.Unlock()
	stood := Stood(p.Paused-o.paused, p.Targets)
	span := p.At - o.at
	o.paused, o.at = p.Paused, p.At
	running := min(p.CPUs/max(p.Active, 1), 1) + p.Statistics // a reading that comes late counts for more than its interval: no probe takes more than all
	o.lately += 0.3 * (min(span/usual, 1)*(running-o.lately) + stood/max(span, usual))
	o.lost += running*span + stood
	o.wanted += min(p.Wanted, 1) * span
}

// Lately is the share of the targets' time that was lost in the last second or so.
func (o *Observed) Lately() float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lately
}

// Share is the share of their time that the targets have lost between the attach and session time now, with pauses that no pass has seen yet:
// paused and targets are as in a Pass. It is 1 at most.
func (o *Observed) Share(now float64, paused time.Duration, targets int) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return min((o.lost+Stood(paused-o.paused, targets))/max(now, 0.001), 1)
}

// lostPerTaken is how much of its work a target loses where whoever measures takes a share of CPUs that are never idle: the CPU time itself, and as much
// again by caches and switches. With pgbench on two CPUs it was 1.85 to 1.9 for sessions of 20 s that took 3.4 and 7.3 % (docs/overhead.md).
const lostPerTaken = 2

// Lost estimates which part of its work a target has not done because it is measured, from the attach to session time now: observed is the share of its time
// that probes and pauses took, taken the share of the machine's CPU time that others would have had. A target that hardly runs loses none of that.
func (o *Observed) Lost(observed, taken, now float64) float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken *= min(o.wanted/max(now, 0.001), 1)
	return 1 - (1-observed)*(1-min(lostPerTaken*taken, 1))
}

// Stood is what each target loses of its time by pauses, in seconds: one of them stands still in a pause, the others run.
func Stood(pauses time.Duration, targets int) float64 {
	return pauses.Seconds() / float64(max(targets, 1))
}

// sampleTime is what a stack sample takes of the thread that it is taken of, in seconds: an interrupt, and kernel.StackBytes to be copied.
const sampleTime = 10e-6

// Samples is how many CPUs stack samples took, of which n were taken in so many seconds. A short time counts as a usual one.
func Samples(n int, seconds float64) float64 {
	return float64(n) * sampleTime / max(seconds, selfcost.ShortestInterval.Seconds())
}
