package daemon

import (
	"time"

	"culprit/daemon/children"
)

// What processes that a target has started, and that have ended, have used, and nobody has measured.

// readTimes takes how much processor time a target and its children have used. One that has ended keeps the last.
func (t *measured) readTimes() {
	if !t.ended {
		t.times.Read(t.Proc.PID())
	}
}

// noteOwnTimes takes the processor time of the targets that others have started, which end at any moment: what they have used until then
// comes to their parents' children. d.mu is held.
func (d *Daemon) noteOwnTimes() {
	for _, t := range d.targets {
		if t.child && !t.ended {
			t.times.ReadOwn(t.Proc.PID())
		}
	}
}

// missesChildren reports whether processes that the targets have started have ended and nobody saw them: the kernel counts the faults of
// children that a process has waited for, however short they lived. Where some of the children that have ended were measured it cannot be told
// whether others were not. d.mu is held.
func (d *Daemon) missesChildren() bool {
	if !d.opts.Children || len(d.departed.list) > 0 {
		return false
	}
	for _, t := range d.targets {
		if t.child && t.ended {
			return false
		}
	}
	for _, t := range d.targets {
		if t.readTimes(); t.times.LostChildren() {
			return true
		}
	}
	return false
}

// UnmeasuredChildren is how much processor time went to processes that the targets have started and that ended before they could be measured,
// and what share that is of all that the program has used since the attach; 0 if it is next to nothing. Children that nobody waited for
// are not among them.
func (d *Daemon) UnmeasuredChildren() (used time.Duration, share float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.childrenTimes().Unmeasured()
}

// childrenTimes adds up what the tree of the targets has used. d.mu is held.
func (d *Daemon) childrenTimes() *children.Sum {
	var sum children.Sum
	sum.AddEnded(d.departed.used)
	for _, t := range d.targets {
		if t.readTimes(); t.child && t.ended {
			sum.AddEnded(t.times.Own())
		} else {
			sum.Add(&t.times)
		}
	}
	return &sum
}
