package daemon

import (
	"time"

	"culprit/daemon/kernel"
	"culprit/grid"
)

// What processes that a target has started, and that have ended, have used, and nobody has measured: a child that lives for some
// milliseconds is gone before anybody can look at it. The kernel keeps the processor time of children that a process has waited for.

// childTimes are readings of a target's own processor time and of that of the children it has waited for, each with what those had used.
type childTimes struct {
	own, children growth
	faults        [2]uint64 // minor faults of children that were waited for: when that was first read, and lastly
}

// A growth is how far a figure has come since it was first read.
type growth struct {
	first, last time.Duration
	read        bool
}

func (g *growth) take(v time.Duration) {
	if !g.read {
		g.first, g.read = v, true
	}
	g.last = max(g.last, v)
}

func (g *growth) by() time.Duration { return g.last - g.first }

// readChildTimes takes both figures. One that has ended keeps the last.
func (t *measured) readChildTimes() {
	if k, err := kernel.ReadProcess(t.Proc.PID()); err == nil && !t.ended {
		t.times.own.take(k.User + k.System)
		if !t.times.children.read {
			t.times.faults[0] = k.ChildFaults
		}
		t.times.faults[1] = k.ChildFaults
		t.times.children.take(k.Children)
	}
}

// unseenChildren says of a value over all processes that some of them are not in it, since nobody saw them: the kernel counts the faults of
// children that a process has waited for, however short they lived. Where some of the children that have ended were measured it cannot be told
// whether others were not.
func (d *Daemon) unseenChildren(key grid.PairKey) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.opts.Children || key.Focus.Depth(grid.Process) > 0 || len(d.family.gone) > 0 {
		return nil
	}
	for _, t := range d.targets {
		if t.child && t.ended {
			return nil
		}
	}
	for _, t := range d.targets {
		if t.readChildTimes(); t.times.faults[1] > t.times.faults[0] {
			return []string{"processes that it started ended before they could be measured: what they did is not counted"}
		}
	}
	return nil
}

// noteOwnTimes takes the processor time of the targets that others have started, which end at any moment: what they have used until then
// comes to their parents' children. d.mu is held.
func (d *Daemon) noteOwnTimes() {
	for _, t := range d.targets {
		if !t.child || t.ended {
			continue
		}
		if own, err := kernel.ProcessTime(t.Proc.PID()); err == nil {
			t.times.own.take(own)
		}
	}
}

// Short of this time, or this share of all, what others have used is not spoken of.
const (
	leastUnmeasured      = 50 * time.Millisecond
	leastUnmeasuredShare = 0.01
)

// UnmeasuredChildren is how much processor time went to processes that the targets have started and that ended before they could be measured,
// and what share that is of all that the program has used since the attach; 0 if it is next to nothing. Children that nobody waited for
// are not among them.
func (d *Daemon) UnmeasuredChildren() (used time.Duration, share float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	own := d.family.measured
	used = -own
	for _, t := range d.targets {
		t.readChildTimes()
		own += t.times.own.by()
		if t.child && t.ended {
			used -= t.times.own.by()
		} else {
			used += t.times.children.by()
		}
	}
	if share = used.Seconds() / (used + own).Seconds(); used < leastUnmeasured || share < leastUnmeasuredShare {
		return 0, 0
	}
	return used, share
}
