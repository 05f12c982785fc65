package daemon

import (
	"time"

	"culprit/grid"
)

// Children that have ended. What they have counted is in the sums of the pairs; their memory, descriptors and tables are given
// back, so that a server whose processes come and go does not fill ours.

// maxDeparted bounds how many children that have ended are listed by name.
const maxDeparted = 1000

// departed is what is kept of children that have ended.
type departed struct {
	list []seated
	used time.Duration // their processor time
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
		if t.child && t.ended && t.settled {
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
	d.departed.used += t.times.Own()
	t.detached = true
	t.close()
	if d.byPID[t.Proc.PID()] == t {
		delete(d.byPID, t.Proc.PID())
	}
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
