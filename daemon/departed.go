package daemon

import (
	"slices"

	"culprit/daemon/children"
	"culprit/daemon/measuring"
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

// buryEnded gives back what belongs to children that have ended. enabling is held.
func (ms *members) buryEnded() {
	if !slices.ContainsFunc(ms.list(), (*measuring.Process).Ended) {
		return
	}
	defer ms.holdAll().release()
	ms.mu.Lock()
	defer ms.mu.Unlock()
	var kept []*measuring.Process
	for _, t := range ms.targets {
		if (t.Child || t.Execed) && t.Ended() && t.Settled {
			ms.bury(t)
			continue
		}
		kept = append(kept, t)
	}
	ms.targets = kept
}

// bury gives back what belongs to one. All targets are locked, and mu is held.
func (ms *members) bury(t *measuring.Process) {
	for _, p := range ms.pairs {
		p.parts = without(p.parts, t)
	}
	ms.lingering.Leave(t)
	if len(ms.departed.list) < maxDeparted {
		ms.departed.list = append(ms.departed.list, seated{ms.infoOf(t), t.Seat})
	}
	ms.departed.used = ms.departed.used.And(t.EndedTimes())
	t.Detached = true
	ms.forgetThreads(t)
	t.Close()
	if ms.byPID[t.Proc.PID()] == t {
		delete(ms.byPID, t.Proc.PID())
	}
}

// forgetThreads closes the files by which the threads of a target are followed, if no other target has its number now. mu is held.
func (ms *members) forgetThreads(t *measuring.Process) {
	if ms.byPID[t.Proc.PID()] == t {
		ms.session.Kernel.Forget(t.Proc.PID())
	}
}

// without drops the parts of a target.
func without(parts []*measuring.Part, t *measuring.Process) []*measuring.Part {
	kept := parts[:0]
	for _, p := range parts {
		if p.Process != t {
			kept = append(kept, p)
		}
	}
	clear(parts[len(kept):])
	return kept
}
