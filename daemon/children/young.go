package children

import (
	"errors"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
)

const (
	// youth is how long a child that was forked has time to execute a program. It is asked for new processes with each round of looks.
	youth = 20 * time.Millisecond
	// loading is how long the memory of a program must have kept its size for it to have been loaded, and loadings after how many
	// such times it is measured whatever it does.
	loading  = 50 * time.Millisecond
	loadings = 20
	// WaitInterval is after what time a child that cannot be measured yet, because it still runs on its parent's memory, is
	// looked at again.
	WaitInterval = time.Second
)

// A young child runs its parent's code, or is just being loaded.
type young struct {
	start uint64
	after time.Time // when to look again
	size  uint64    // of its memory when it was last looked at, if it has executed a program
	looks int
}

// grown reports whether a child may be measured now: it still runs what it was forked from, or what it has executed is loaded. A
// program without its libraries has nothing to measure, and perhaps no thread pointer yet.
func (y *young) grown(pid int) bool {
	if ForkedOnly(pid) {
		return true
	}
	size, err := kernel.MemorySize(pid)
	same := err == nil && size == y.size
	y.size = size
	y.looks++
	return same || y.looks > loadings
}

// meet joins a descendant, or puts it off. settled says that it was there before the attach, and is no newborn. It reports whether it was
// joined.
func (w *Watcher) meet(p kernel.Parentage, now time.Time, settled bool) bool {
	if w.host.IsTarget(p.PID) || w.shunned[p.PID] == p.Start {
		return false
	}
	if y, ok := w.young[p.PID]; ok && y.start == p.Start {
		return false
	}
	if settled && !ForkedOnly(p.PID) {
		return w.takeIn(p, young{start: p.Start}, now)
	}
	w.mu.Lock()
	w.born = now
	w.mu.Unlock()
	w.young[p.PID] = young{start: p.Start, after: now.Add(youth)}
	return false
}

// takeIn joins a descendant. One that cannot be joined yet is put off, one that never can is shunned.
func (w *Watcher) takeIn(p kernel.Parentage, y young, now time.Time) (joined bool) {
	delete(w.young, p.PID)
	was := w.times(p.PID)
	err := w.host.Join(p.PID)
	over := errors.Is(err, process.ErrNotFound) || errors.Is(err, process.ErrZombie) || errors.Is(err, process.ErrTargetExited)
	switch {
	case err == nil:
		w.goOn(searched, notAsked)
	case errors.Is(err, process.ErrTargetExeced), over && process.Lives(p.PID, p.Start): // it became another program, again
		w.young[p.PID] = young{start: p.Start, after: now.Add(loading)}
		return false
	case over:
	case errors.As(err, new(*process.Deferred)), ForkedOnly(p.PID), y.looks <= loadings: // it may run on its parent's memory, or not have begun
		y.looks += loadings / 4
		y.after = now.Add(WaitInterval)
		w.young[p.PID] = y
		return false
	default:
		w.shunned[p.PID] = p.Start
		if was, ok := w.Was(p.PID); ok {
			w.host.Logf("%s goes on as another program, which could not be measured: %v", was.Name, err)
		} else {
			w.host.Logf("child %d is not measured: %v", p.PID, err)
		}
	}
	w.decidedUnlessAgain(p.PID, was)
	return err == nil
}

// meetPutOff looks again at those that were put off.
func (w *Watcher) meetPutOff(now time.Time) {
	for pid, y := range w.young {
		if now.Before(y.after) {
			continue
		}
		p, ok := kernel.ParentOf(pid)
		switch {
		case (!ok || p.Start != y.start) && !process.Lives(pid, y.start):
			delete(w.young, pid)
			w.decided(pid)
		case !ok: // in the middle of an exec
		case y.grown(pid):
			w.takeIn(p, y, now)
		default:
			y.after = now.Add(loading)
			w.young[pid] = y
		}
	}
}

// meetRestarted puts off those that have executed another program until that is loaded.
func (w *Watcher) meetRestarted(now time.Time) {
	w.mu.Lock()
	again := w.again
	w.again = nil
	w.mu.Unlock()
	for _, pid := range again {
		was, _ := w.Was(pid)
		if process.Lives(pid, was.Start) && !w.host.IsTarget(pid) {
			w.young[pid] = young{start: was.Start, after: now.Add(loading)}
		} else {
			w.decided(pid)
		}
	}
}
