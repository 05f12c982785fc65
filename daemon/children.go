package daemon

import (
	"slices"
	"time"

	"culprit/daemon/children"
	"culprit/grid"
)

// Children that have ended. What they have counted is in the sums of the pairs; their memory, descriptors and tables are given
// back, so that a server whose processes come and go does not fill ours.

// maxDeparted bounds how many children that have ended are listed by name.
const maxDeparted = 1000

// departed is what is kept of children that have ended.
type departed struct {
	list []seated
	used children.Ended
}

// A seated target is what the report says of it.
type seated struct {
	info grid.TargetInfo
	seat int // its place in the order of attaching
}

// buryEnded gives back what belongs to children that have ended. d.enabling and d.mu are held.
func (d *Daemon) buryEnded() {
	kept := d.targets[:0]
	for _, t := range d.targets {
		if (t.child || t.execed) && t.ended && t.settled {
			d.bury(t)
			continue
		}
		kept = append(kept, t)
	}
	clear(d.targets[len(kept):])
	d.targets = kept
}

func (d *Daemon) bury(t *measured) {
	for _, p := range d.pairs {
		p.parts = without(p.parts, t)
	}
	d.lingering.Leave(t)
	if len(d.departed.list) < maxDeparted {
		d.departed.list = append(d.departed.list, seated{d.infoOf(t), t.seat})
	}
	d.departed.used = d.departed.used.And(t.endedTimes())
	t.detached = true
	t.close()
	if d.byPID[t.Proc.PID()] == t {
		delete(d.byPID, t.Proc.PID())
	}
}

// endedTimes is what a target that has ended has used. Of one that executes another program now nothing comes to its parent yet.
func (t *measured) endedTimes() children.Ended {
	used := t.times.Ended()
	if t.execed {
		used.All = 0
	}
	return used
}

// without drops the parts of a target.
func without(parts []*part, t *measured) []*part {
	kept := parts[:0]
	for _, p := range parts {
		if p.t != t {
			kept = append(kept, p)
		}
	}
	clear(parts[len(kept):])
	return kept
}

// settleEnded notes for which targets that have ended the last values were just taken. d.mu is held.
func (d *Daemon) settleEnded() {
	for _, t := range d.targets {
		t.settled = t.ended
	}
}

// What processes that a target has started, and that have ended, have used, and nobody has measured.

// readTimes takes how much processor time a target and its children have used. One that has ended keeps the last.
func (t *measured) readTimes() {
	if !t.ended {
		t.times.Read(t.Proc.PID())
	}
}

// timedAlways is of how many of the first targets the times are read in each pass; those of more are read when their code is looked for.
const timedAlways = 16

// noteTimes takes the processor time of the targets that others have started, which end at any moment: what they have used until then
// comes to their parents' children. Of the first targets it also takes that of their children, and sums up what of it nobody has measured.
// d.mu is held.
func (d *Daemon) noteTimes() {
	firsts := 0
	for _, t := range d.targets {
		switch {
		case t.ended:
		case t.child:
			t.times.ReadOwn(t.Proc.PID())
		default:
			if firsts++; firsts <= timedAlways {
				t.readTimes()
			}
		}
	}
	d.unmeasured, _ = d.childrenTimes().Unmeasured()
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
	for _, t := range d.targets {
		t.readTimes()
	}
	return d.childrenTimes().Unmeasured()
}

// childrenTimes adds up what the tree of the targets has used, as it was last read. d.mu is held.
func (d *Daemon) childrenTimes() *children.Sum {
	var sum children.Sum
	sum.AddEnded(d.departed.used)
	for _, t := range d.targets {
		if t.child && t.ended {
			sum.AddEnded(t.endedTimes())
		} else {
			sum.Add(&t.times)
		}
	}
	return &sum
}

// A process that a target starts runs for a while before it is seen and probes are in it. What it did until then is in no count.

// noteJoin notes for every pair that is measured in a new target whether that has run for long. Those that ran before the session are as
// those that were attached to. d.mu is held.
func (d *Daemon) noteJoin(t *measured) {
	age, late := children.LateBy(t.Proc.PID(), d.Now())
	if !late {
		return
	}
	for _, p := range d.pairs {
		if slices.ContainsFunc(p.parts, func(pt *part) bool { return pt.t == t && !pt.plan.KeptByKernel() }) {
			p.late.Note(age)
		}
	}
}
