package daemon

import (
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/cost"
	"culprit/daemon/kernel"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/selfcost"
	"culprit/grid"
)

// Overhead returns the costs so far.
func (d *Daemon) Overhead() (o grid.Overhead) {
	o.Observed = d.lostShare()
	o.Pauses = d.session.Pauses.Figures()
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		o.DaemonCPU = time.Duration(ru.Utime.Nano()+ru.Stime.Nano()).Seconds() / max(d.Now(), 0.001)
	}
	return o
}

// Pauses returns how long the targets stood still in each of the last stops, oldest first; 256 at most.
func (d *Daemon) Pauses() []time.Duration { return d.session.Pauses.Last() }

// accountCost adds what a pass has found to the observed cost; cpus is what probes and stack samples took. d.mu is held.
func (d *Daemon) accountCost(now, cpus float64) {
	active := 0.0
	for _, t := range d.targets {
		active += t.Threads.Active()
	}
	d.accountTaken(d.observed.Since(now), cpus)
	d.observed.Add(cost.Pass{At: now, CPUs: cpus, Active: active, Statistics: d.statisticsCost(), Paused: d.session.Pauses.Total(), Targets: len(d.targets)})
}

// Stood is how many seconds each target stood still since the attach, on average.
func (d *Daemon) Stood() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return cost.Stood(d.session.Pauses.Total(), len(d.targets))
}

// lostShare is what the targets have lost of their time since the attach, as a fraction.
func (d *Daemon) lostShare() float64 {
	d.mu.Lock()
	targets := len(d.targets)
	d.mu.Unlock()
	return d.observed.Share(d.Now(), d.session.Pauses.Total(), targets)
}

// samplingCost is what stack samples took since the last accounting of targets that are only looked at, in CPUs. d.mu is held.
func (d *Daemon) samplingCost(now float64) (cpus float64) {
	since := d.observed.Since(now)
	for _, t := range d.targets {
		if t.sampled != nil {
			cpus += cost.Samples(t.sampled.Taken(), since)
		}
	}
	return cpus
}

// ObservedCost implements grid.Instrumenter.
func (d *Daemon) ObservedCost() float64 { return d.observed.Lately() }

// tickInterval is how often all cells are read where that takes little.
const tickInterval = selfcost.ShortestInterval

// Spare is how many CPU seconds culprit may use now without costing the targets more than the budget's share of the machine. It is below 0
// after it used more than that, and +Inf while some CPU is idle.
func (d *Daemon) Spare() float64 { return d.allowance.Remaining(time.Now()) }

// isStill tells that culprit has used more than it may, and that nothing is measured by a probe or by rows: the search waits, and what goes
// on is only watched. d.mu is held.
func (d *Daemon) isStill() bool {
	if !d.allowance.Overdrawn() {
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
	if m, ok := pt.meter.(*kernelmeter.Meter); ok && m.NeedsStatistics() {
		return true
	}
	return len(pt.Sites()) > 0 || pt.needs != nil || pt.rows() || pt.meter.Tier() == grid.TierSample
}

// accountTaken adds what was taken in an interval, of which probes took so many CPUs. d.mu is held.
func (d *Daemon) accountTaken(interval, probes float64) {
	d.allowance.Charge(interval * (probes + d.clocks.Taken()))
}

// passShare is the share of a CPU that passes may take now.
func (d *Daemon) passShare() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.isStill():
		return selfcost.StillShare
	case d.allowance.Busy():
		return selfcost.BusyShare
	}
	return selfcost.PassShare
}

// tickIfDue is a tick, if it is time for one.
func (d *Daemon) tickIfDue() {
	now := time.Now()
	if !d.passes.Due(now, d.passShare()) {
		return
	}
	runtime.LockOSThread() // for its clock: a pass that waits for a CPU is not a long one
	defer runtime.UnlockOSThread()
	before := kernel.OwnThreadTime()
	d.tick()
	d.passes.Note(now, kernel.OwnThreadTime()-before)
}

// Beat is the time until the next of the beats that come with an interval.
func (d *Daemon) Beat(interval time.Duration) time.Duration {
	return d.beats.Next(time.Now(), interval)
}
