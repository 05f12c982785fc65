package daemon

import (
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/cost"
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
