package daemon

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/cost"
	"culprit/daemon/kernel"
	"culprit/daemon/selfcost"
	"culprit/daemon/threads"
	"culprit/grid"
)

// Overhead returns the costs so far.
func (ps *passes) Overhead() (o grid.Overhead) {
	o.Observed = ps.lostShare()
	o.Pauses = ps.session.Pauses.Figures()
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		o.DaemonCPU = time.Duration(ru.Utime.Nano()+ru.Stime.Nano()).Seconds() / max(ps.Now(), 0.001)
	}
	o.Taken = ps.allowance.Taken(ps.Now())
	o.Lost = ps.observed.Lost(o.Observed, o.Taken, ps.Now())
	return o
}

// accountCost adds what a pass has found to the observed cost; cpus is what probes and stack samples took. mu is held.
func (ps *passes) accountCost(now, cpus float64) {
	ps.accountTaken(ps.observed.Since(now), cpus)
	ps.observed.Add(cost.Pass{At: now, CPUs: cpus, Active: ps.sum((*threads.Table).Active), Wanted: ps.sum((*threads.Table).Wanted), Statistics: ps.statisticsCost(), Paused: ps.session.Pauses.Total(), Targets: len(ps.targets)})
}

// Stood is how many seconds each target stood still since the attach, on average.
func (ps *passes) Stood() float64 {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return cost.Stood(ps.session.Pauses.Total(), len(ps.targets))
}

// lostShare is what the targets have lost of their time since the attach, as a fraction.
func (ps *passes) lostShare() float64 {
	ps.mu.Lock()
	targets := len(ps.targets)
	ps.mu.Unlock()
	return ps.observed.Share(ps.Now(), ps.session.Pauses.Total(), targets)
}

// samplingCost is what stack samples took since the last accounting of targets that are only looked at, in CPUs. mu is held.
func (ps *passes) samplingCost(h hold, now float64) (cpus float64) {
	since := ps.observed.Since(now)
	for t := range h {
		if s := t.Sampled(); s != nil {
			cpus += cost.Samples(s.Taken(), since)
		}
	}
	return cpus
}

// tickInterval is how often all cells are read where that takes little.
const tickInterval = selfcost.ShortestInterval

// Spare is how many CPU seconds culprit may use now without costing the targets more than the budget's share of the machine. It is below 0
// after it used more than that, and +Inf while some CPU is idle.
func (d *Daemon) Spare() float64 { return d.allowance.Remaining(time.Now()) }

// accountTaken adds what was taken in an interval, of which probes took so many CPUs. mu is held.
func (ps *passes) accountTaken(interval, probes float64) {
	ps.allowance.Charge(interval * (probes + ps.common.Clocks.Taken()))
}

// passShare is the share of a CPU that passes may take now.
func (ps *passes) passShare() float64 {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	switch {
	case ps.isStill():
		return selfcost.StillShare
	case ps.allowance.Busy() && ps.Now() > selfcost.FirstAnswers:
		return selfcost.BusyShare
	}
	return selfcost.PassShare
}

// tickIfDue is a tick, if it is time for one.
func (ps *passes) tickIfDue() {
	now := time.Now()
	if !ps.interval.Due(now, ps.passShare()) {
		return
	}
	runtime.LockOSThread() // for its clock: a pass that waits for a CPU is not a long one
	defer runtime.UnlockOSThread()
	before := kernel.OwnThreadTime()
	ps.tick()
	ps.interval.Note(now, kernel.OwnThreadTime()-before)
}

// beat is the time until the next of the beats that come with an interval.
func (d *Daemon) beat(interval time.Duration) time.Duration {
	return d.looks.beats.Next(time.Now(), interval)
}

// statisticsCost is what statistics take as a fraction of the targets' time; 0 where targets are only sampled, with their help. mu is held.
func (ps *passes) statisticsCost() float64 {
	if ps.opts.Backend.Looks() {
		return 0
	}
	return ps.common.Clocks.Taken() / ps.common.Clocks.TimeOfTargets()
}
