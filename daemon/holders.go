package daemon

import (
	"fmt"
	"slices"
	"sort"

	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/sampling"
	"culprit/daemon/wakers"
	"culprit/grid"
	"culprit/internal/safetext"
)

// Holders tells which threads had the lock that a focus chooses while others waited for it, within the last seconds, the one that had
// it most often first. Where the focus chooses no POSIX mutex or rwlock it tells which threads ended the waits there, if the kernel tells. It is
// nil where nobody was seen waiting.
func (d *Daemon) Holders(f grid.Focus) (list []grid.Holder) {
	e := f.Elements(grid.SyncObject)
	isLock := false
	if len(e) == 2 {
		_, isLock = libc.OwnerAt(e[0])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var woken sampling.Tally
	for _, t := range d.targets {
		switch {
		case !t.Covers(f):
		case isLock:
			list = append(list, t.profile.Holders(sampling.ObjectPart(f))...)
		default:
			woken.Add(&t.profile.Counts, f)
		}
	}
	list = append(list, woken.Wakers()...)
	sort.Slice(list, func(i, j int) bool {
		if list[i].Share != list[j].Share {
			return list[i].Share > list[j].Share
		}
		return list[i].Thread < list[j].Thread
	})
	return list
}

// mostWakers is how many threads are told that ended the waits of one.
const mostWakers = 8

// livePIDs are the processes of the targets that have not ended. d.mu is held.
func (d *Daemon) livePIDs() (pids []int) {
	for _, t := range d.targets {
		if !t.ended {
			pids = append(pids, t.Proc.PID())
		}
	}
	return pids
}

// wakersOf is who ends the waits of a thread of the target in a call, at a session time. d.mu is held.
func (t *measured) wakersOf(tid int, call kernel.BlockedCall, now float64) (list []sampling.Waker) {
	t.d.wakers.Ask(now)
	shares := t.d.wakers.Of(tid, waitIn(call))
	for _, s := range shares[:min(len(shares), mostWakers)] {
		w := t.d.waker(t, s.Waker)
		w.Of = s.Of
		list = append(list, w)
	}
	return list
}

func waitIn(call kernel.BlockedCall) wakers.Wait {
	return wakers.Wait{Call: call.NR, Arg: call.Args[0]}
}

// unfed is what part of the waits of a thread of the target in a call nobody ends but time, or threads that have nothing to do themselves, 0 to 1;
// ok is false if that is not known. d.mu is held.
func (t *measured) unfed(tid int, call kernel.BlockedCall, now float64) (share float64, ok bool) {
	t.d.wakers.Ask(now)
	list := t.d.wakers.Of(tid, waitIn(call))
	return t.d.idleOf(list, []int{tid}), len(list) > 0
}

// longestChain is how many threads that wait for one another are followed.
const longestChain = 4

// idleOf is what part of some wakers' time is idle, by the part of the waits that each has ended. The threads that wait for them are left out: those
// that wait for one another in a circle do not wait for something to do. d.mu is held.
func (d *Daemon) idleOf(list []wakers.Share, waiting []int) (share float64) {
	for _, w := range list {
		if w.TID == 0 {
			share += w.Of
			continue
		}
		t := d.byPID[w.PID]
		if t == nil || len(waiting) == longestChain || slices.Contains(waiting, w.TID) {
			continue
		}
		idle, unfed := t.Threads.Idle(w.TID)
		if unfed > 0 {
			idle += unfed * d.idleOf(d.wakers.All(w.TID), append(slices.Clone(waiting), w.TID))
		}
		share += w.Of * idle
	}
	return share
}

// waker names who ended a wait in a target.
func (d *Daemon) waker(of *measured, w wakers.Waker) sampling.Waker {
	if w.TID == 0 {
		return sampling.Waker{Thread: sampling.Kernel}
	}
	t := d.byPID[w.PID]
	if t == nil {
		return sampling.Waker{Thread: fmt.Sprintf("%s{%d}, which is not measured", safetext.CleanMax(kernel.Command(w.PID), 100), w.PID), Outside: true}
	}
	name := t.Threads.Name(w.TID)
	if t != of {
		name = t.Name + "/" + name
	}
	at, works := t.profile.Where(w.TID)
	return sampling.Waker{Thread: name, Function: at, Works: works}
}
