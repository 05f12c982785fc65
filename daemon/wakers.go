package daemon

import (
	"fmt"
	"slices"

	"culprit/daemon/arch"
	"culprit/daemon/kernel"
	"culprit/daemon/measuring"
	"culprit/daemon/sampling"
	"culprit/daemon/wakers"
	"culprit/grid"
	"culprit/internal/safetext"
)

// wakersOf is who ends the waits of a thread of the target in a call, at a session time. For the lock of a file that is who has it now; threads of
// one process are not told apart there. mu is held.
func (lk *looks) wakersOf(t *measuring.Process, tid int, call kernel.BlockedCall, now float64) (list []sampling.Waker) {
	lk.wakers.Ask(now)
	if arch.WaitsForFileLock(call.NR, call.Args[1]) {
		pid, asked := lk.fileLocks.Holder(t.Proc.PID(), call)
		of := lk.byPID[pid]
		switch {
		case !asked:
			return nil
		case pid > 0 && (of == nil || of.Threads.Count() == 1):
			w := lk.waker(t, wakers.Waker{TID: pid, PID: pid}, call)
			w.Of = 1
			return []sampling.Waker{w}
		}
	}
	var inTurn []sampling.Waker
	for i, s := range lk.wakers.Told(tid, wakers.In(call), lk.isTarget, lk.watcher.EndsSoon) {
		w := lk.waker(t, s.Waker, call)
		w.Of = s.Of
		list = append(list, w)
		if i == 0 && w.Does == sampling.Waits {
			inTurn = lk.inTurn(t, s, tid)
		}
	}
	return append(sampling.WhoElse(list), inTurn...)
}

func (lk *looks) isTarget(pid int) bool { return lk.byPID[pid] != nil } // mu is held

// inTurn are the threads for which the one waits that ended most waits of another one, as far as they work. mu is held.
func (lk *looks) inTurn(t *measuring.Process, by wakers.Share, waiter int) (list []sampling.Waker) {
	call, err := kernel.Blocked(by.PID, by.TID)
	switch {
	case by.TID == 0 || !lk.isTarget(by.PID) || err != nil:
		return nil
	case call.Running: // whoever it has waited for has done its work
		return []sampling.Waker{sampling.Unseen}
	}
	for _, s := range lk.wakers.Told(by.TID, wakers.In(call), lk.isTarget, lk.watcher.EndsSoon) {
		w := lk.waker(t, s.Waker, call)
		if w.Of, w.InTurn = by.Of*s.Of, true; s.TID != 0 && s.TID != waiter && w.Does > sampling.Beside {
			list = append(list, w)
		}
	}
	return list
}

// unfed is what part of the waits of a thread of a target in a call nobody ends but time, or threads that have nothing to do themselves, 0 to 1;
// ok is false if that is not known. mu is held.
func (lk *looks) unfed(tid int, call kernel.BlockedCall, now float64) (share float64, ok bool) {
	lk.wakers.Ask(now)
	list := lk.wakers.Feeders(tid, wakers.In(call))
	return lk.idleOf(list, wakers.In(call), []int{tid}), len(list) > 0
}

const longestChain = 4 // so many threads that wait for one another are followed

// idleOf is what part of some wakers' time is idle, by the part of the waits in which each has ended them. The threads that wait for them are left
// out: those that wait for one another in a circle do not wait for something to do. A waker that waits there itself has what is waited for, as a
// semaphore that serves as a lock, and may sleep with it. mu is held.
func (lk *looks) idleOf(list []wakers.Share, in wakers.Wait, waiting []int) (share float64) {
	for _, w := range list {
		if w.TID == 0 {
			share += w.Of
			continue
		}
		t := lk.byPID[w.PID]
		if t == nil || len(waiting) == longestChain || slices.Contains(waiting, w.TID) {
			continue
		}
		idle, unfed := t.Threads.Idle(w.TID)
		if lk.wakers.Waits(w.TID, in) {
			idle = 0
		}
		if unfed > 0 {
			idle += unfed * lk.idleOf(lk.wakers.All(w.TID), wakers.Any, append(slices.Clone(waiting), w.TID))
		}
		share += w.Of * idle
	}
	return share
}

// waker names who ended a wait in a call in a target.
func (lk *looks) waker(of *measuring.Process, w wakers.Waker, call kernel.BlockedCall) sampling.Waker {
	if w.TID == 0 {
		return sampling.Waker{Thread: sampling.Kernel}
	}
	t := lk.byPID[w.PID]
	switch {
	case w == wakers.Ended, t == nil && lk.watcher.EndsSoon(w.PID):
		return sampling.Waker{Thread: grid.EndedProcesses, Outside: true}
	case t == nil:
		return sampling.Waker{Thread: fmt.Sprintf("%s{%d}, which is not measured", safetext.CleanMax(kernel.Command(w.PID), 100), w.PID), Outside: true}
	}
	name := t.Threads.Name(w.TID)
	if t != of {
		name = t.Name + "/" + name
		if !t.TryLock() {
			return sampling.Waker{Thread: name}
		}
		defer t.Unlock()
	}
	at, does, busy := t.Profile.Where(w.TID, call, t == of)
	return sampling.Waker{Thread: name, Function: at, Does: does, Busy: busy}
}
