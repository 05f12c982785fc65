package daemon

import (
	"culprit/daemon/cost"
	"culprit/pcl"
)

// byWakefulness parts the targets into those that ran lately, or of which that is not known, and the others. d.mu is held.
func (d *Daemon) byWakefulness() (running, asleep []*measured) {
	for _, t := range d.targets {
		if !t.ended && cost.IsIdle(t.Threads.Ran()) {
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
	idle  cost.Idle
}

// setAside takes the targets that did not run lately from those whose calls are to be counted. d.mu is held.
func setAside(unknown map[*measured]map[pcl.FuncID]bool) (asleep []sleeper) {
	for t, funcs := range unknown {
		if !cost.IsIdle(t.Threads.Ran()) {
			continue
		}
		idle, err := cost.WatchIdle(t.Proc.PID())
		if err != nil {
			continue
		}
		asleep = append(asleep, sleeper{t, funcs, idle})
		delete(unknown, t)
	}
	return asleep
}

// woken gives those that were not asleep after all; of the others it is known now that they called nothing. d.mu is held.
func (d *Daemon) woken(asleep []sleeper) map[*measured]map[pcl.FuncID]bool {
	awake := map[*measured]map[pcl.FuncID]bool{}
	for _, s := range asleep {
		woke, err := s.idle.Woke()
		switch {
		case err != nil: // it has ended
		case woke:
			awake[s.t] = s.funcs
		default:
			for id := range s.funcs {
				s.t.rates.Note(id, 0, d.Now())
			}
		}
	}
	return awake
}
