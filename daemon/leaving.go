package daemon

import (
	"errors"
	"fmt"

	"culprit/daemon/children"
	"culprit/daemon/measuring"
	"culprit/daemon/process"
	"culprit/daemon/schedule"
	"culprit/grid"
)

// runs reports whether a target, which is locked, is still the program that was opened, where mu is not held. One that is not stays as it
// is: the pass that retires it reads its last values first.
func (ms *members) runs(t *measuring.Process) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return !t.Ended() && !process.SaysGone(ms.checkExec(t))
}

// readTimes takes what a target, which is locked, has used.
func (ms *members) readTimes(t *measuring.Process) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	t.ReadTimes()
}

// lives reports whether a target still runs the program that was opened; one that does not is retired. It is locked, and mu is held.
func (ms *members) lives(t *measuring.Process) bool {
	if t.Ended() {
		return false
	}
	err := ms.checkExec(t)
	if process.SaysGone(err) {
		ms.endBy(t, err)
		return false
	}
	return true
}

// endBy retires a target, which is locked, that has ended or has become another program, as err says. mu is held.
func (ms *members) endBy(t *measuring.Process, err error) {
	if t.Ended() {
		return
	}
	t.Execed = errors.Is(err, process.ErrTargetExeced)
	if t.Execed && ms.opts.Children {
		ms.watcher.Restarted(t.Proc.PID(), children.Former{Name: t.Name, Child: t.Child, Start: t.Proc.Start()})
	} else if err != nil {
		ms.logf("%s: %v", t.Name, err)
	}
	ms.end(t)
}

// end retires a target, which is locked. mu is held.
func (ms *members) end(t *measuring.Process) {
	if !t.Ended() {
		ms.retire(t)
	}
	ms.endWithLast() // also for one that had ended: what it left behind may have been waited for
}

// retire notes that a target is over as the program that it was. mu is held.
func (ms *members) retire(t *measuring.Process) {
	t.End(ms.Now())
	ms.session.Tree.Retire(grid.Process, t.Name)
}

// endWithLast ends the session when no target is left, and none that has executed another program is to be joined again. mu is held.
func (ms *members) endWithLast() {
	for _, o := range ms.targets {
		if !o.Ended() {
			return
		}
	}
	if !ms.watcher.Awaits() && !(ms.opts.Children && ms.watcher.SearchesLeft()) {
		ms.endOnce.Do(func() { close(ms.ended) })
	}
}

// checkExec asks whether a target still runs the program that it ran, as thoroughly as it is scheduled. mu is held.
func (ms *members) checkExec(t *measuring.Process) error {
	switch ms.schedule.Check(t.Seat, len(ms.targets)) {
	case schedule.FullCheck:
		return t.Proc.CheckExec()
	case schedule.MemoryCheck:
		return t.Proc.CheckMemory()
	}
	return nil
}

// leaveTargets detaches from all targets, and tells whether nothing is left behind in any.
func (ms *members) leaveTargets() (clean bool, err error) {
	clean = true
	var errs []error
	for _, t := range ms.targets {
		if e := ms.leave(t); e != nil {
			clean = false
			errs = append(errs, fmt.Errorf("%s: %w", t.Name, e))
		}
	}
	return clean, errors.Join(errs...)
}

// leave detaches from one target. enabling is held.
func (ms *members) leave(t *measuring.Process) error {
	t.Lock()
	defer t.Unlock()
	gone, err := t.Detach()
	becomes := gone && t.Proc.Lives() // another program, in which there is nothing of us
	ms.mu.Lock()
	defer ms.mu.Unlock()
	switch {
	case becomes && ms.opts.Children && !t.Ended():
		t.Execed = true
		ms.retire(t)
	case gone: // before the session did: nothing was removed from it
		ms.end(t)
	}
	if err == nil {
		ms.forgetThreads(t)
	}
	return err
}
