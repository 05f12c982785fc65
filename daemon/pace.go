package daemon

import (
	"runtime"
	"slices"
	"time"

	"culprit/daemon/kernel"
)

// How often all cells are read. A pass over many processes and threads takes long: passes are made more rarely then, so that they take a
// hundredth of a processor, and values are of longer intervals. Each pass reads everything, so that nothing is lost.

const (
	// tickInterval is how often all cells are read, longestTick how often at least.
	tickInterval = 200 * time.Millisecond
	longestTick  = 1600 * time.Millisecond
	// passShare is the share of a processor that passes may take, and busyShare where none is idle.
	passShare = 0.01
	busyShare = 0.004
	// stillShare is the same where nothing is measured that anybody waits for.
	stillShare = 0.0005
	// passesKept is of how many passes the middle one counts: in single ones something began or ended.
	passesKept = 5
)

// A pace is what processor time the last passes took, and when the last one was.
type pace struct {
	took []time.Duration
	last time.Time
}

// note keeps what a pass took.
func (p *pace) note(at time.Time, took time.Duration) {
	p.last = at
	if p.took = append(p.took, took); len(p.took) > passesKept {
		p.took = slices.Delete(p.took, 0, 1)
	}
}

// interval is how long to wait from one pass to the next, each of which may take a share of a processor.
func (p *pace) interval(share float64) time.Duration {
	if len(p.took) < passesKept {
		return tickInterval
	}
	middle := slices.Sorted(slices.Values(p.took))[passesKept/2]
	wanted := time.Duration(float64(middle) / share)
	return min(max(wanted, tickInterval), longestTick)
}

// due reports whether it is time for a pass; timers of ticks are never exact.
func (p *pace) due(now time.Time, share float64) bool {
	return now.Sub(p.last) >= p.interval(share)-tickInterval/2
}

// tickIfDue is a tick, if it is time for one.
func (d *Daemon) tickIfDue() {
	now := time.Now()
	if !d.pace.due(now, d.passShare()) {
		return
	}
	runtime.LockOSThread() // for its clock: a pass that waits for a processor is not a long one
	defer runtime.UnlockOSThread()
	before := kernel.OwnThreadTime()
	d.tick()
	d.pace.note(now, kernel.OwnThreadTime()-before)
}

// passShare is the share of a processor that passes may take now.
func (d *Daemon) passShare() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.isStill():
		return stillShare
	case d.demand.busy:
		return busyShare
	}
	return passShare
}

// Beat is the time until the next of the beats that come with an interval, more than 0. Who wakes up regularly does so at a beat, together with
// the rest: each wake-up of a program that sleeps costs 100 to 200 us of processor time, the scheduler's and that of its own runtime,
// which looks around for a while afterwards.
func (d *Daemon) Beat(interval time.Duration) time.Duration {
	return interval - time.Since(d.beats)%interval
}
