package daemon

import (
	"fmt"
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

// wakersOf is who ends the waits of a thread of the target, at a session time. d.mu is held.
func (t *measured) wakersOf(tid int, now float64) (list []sampling.Waker) {
	if !t.Stats.IsKept() || !t.d.programs.Running() { // to keep them for this alone would cost each switch of a thread
		return nil
	}
	t.d.wakers.Ask(now)
	shares := t.d.wakers.Of(tid)
	for _, s := range shares[:min(len(shares), mostWakers)] {
		w := t.d.waker(t, s.Waker)
		w.Of = s.Of
		list = append(list, w)
	}
	return list
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
