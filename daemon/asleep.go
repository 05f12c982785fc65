package daemon

import (
	"time"

	"culprit/daemon/kernel"
	"culprit/pcl"
)

// Most processes of a server wait for work, and to count the calls of a function in one of them is to stop it twice for nothing. What has
// not run has called nothing, which its processor time tells.

// asleepShare is the share of the time that a process may have run, and be taken for one that was asleep: to wake up for a look round takes
// 50 to 80 us on a virtual machine.
const asleepShare = 0.002

// byWakefulness parts the targets into those that ran lately, or of which that is not known, and the others. d.mu is held.
func (d *Daemon) byWakefulness() (running, asleep []*measured) {
	for _, t := range d.targets {
		if !t.ended && t.Threads.Ran() <= asleepShare {
			asleep = append(asleep, t)
		} else {
			running = append(running, t)
		}
	}
	return running, asleep
}

// A sleeper is a target that did not run lately, and whose functions are priced without counting.
type sleeper struct {
	t     *measured
	funcs map[pcl.FuncID]bool
	used  time.Duration // of processors, at
	at    time.Time
}

// setAside takes the targets that did not run lately from those whose calls are to be counted. d.mu is held.
func setAside(unknown map[*measured]map[pcl.FuncID]bool) (asleep []sleeper) {
	for t, funcs := range unknown {
		if t.Threads.Ran() > asleepShare {
			continue
		}
		used, err := kernel.ProcessTime(t.Proc.PID())
		if err != nil {
			continue
		}
		asleep = append(asleep, sleeper{t: t, funcs: funcs, used: used, at: time.Now()})
		delete(unknown, t)
	}
	return asleep
}

// woken gives those that were not asleep after all; of the others it is known now that they called nothing. d.mu is held.
func (d *Daemon) woken(asleep []sleeper) map[*measured]map[pcl.FuncID]bool {
	awake := map[*measured]map[pcl.FuncID]bool{}
	for _, s := range asleep {
		used, err := kernel.ProcessTime(s.t.Proc.PID())
		if err != nil {
			continue // it has ended
		}
		if float64(used-s.used) > asleepShare*float64(time.Since(s.at)) {
			awake[s.t] = s.funcs
			continue
		}
		for id := range s.funcs {
			s.t.rates[id] = callRate{at: d.Now()}
		}
	}
	return awake
}
