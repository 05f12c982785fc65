package daemon

import (
	"time"

	"culprit/daemon/children"
	"culprit/grid"
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

// unseenChildren says of a value over all processes that some of them are not in it, since nobody saw them. Where some of the children that
// have ended were measured it cannot be told whether others were not.
func (d *Daemon) unseenChildren(key grid.PairKey) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.opts.Children || key.Focus.Depth(grid.Process) > 0 || len(d.departed.list) > 0 {
		return nil
	}
	for _, t := range d.targets {
		if t.child && t.ended {
			return nil
		}
	}
	for _, t := range d.targets {
		if t.readTimes(); t.times.LostChildren() {
			return []string{"processes that it started ended before they could be measured: what they did is not counted"}
		}
	}
	return nil
}

// UnmeasuredChildren is how much processor time went to processes that the targets have started and that ended before they could be measured,
// and what share that is of all that the program has used since the attach; 0 if it is next to nothing. Children that nobody waited for
// are not among them.
func (d *Daemon) UnmeasuredChildren() (used time.Duration, share float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var sum children.Sum
	sum.AddEnded(d.departed.used)
	for _, t := range d.targets {
		if t.readTimes(); t.child && t.ended {
			sum.AddEnded(t.times.Own())
		} else {
			sum.Add(&t.times)
		}
	}
	return sum.Unmeasured()
}
