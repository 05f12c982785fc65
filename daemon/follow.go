package daemon

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"culprit/daemon/attach"
	"culprit/daemon/children"
	"culprit/daemon/measuring"
	"culprit/daemon/process"
	"culprit/daemon/target"
)

// The whole tree: the children of targets, and theirs, are targets too. Package children tells which process is to be joined and when; what is
// measured of the others is measured there too then.

// maxTargets bounds how many processes one session measures at a time.
const maxTargets = 1024

// A follower joins what the targets start.
type follower struct {
	*state
	members   *members
	inserter  *inserter
	passes    *passes
	looks     *looks
	questions *questions
}

// host is what the watcher of children may ask for. mu must not be held.
func (fo *follower) host() children.Host {
	return children.Host{IsTarget: fo.isTarget, Join: fo.join, Logf: fo.logf}
}

// isTarget reports whether a process is measured and has not ended.
func (fo *follower) isTarget(pid int) bool {
	fo.mu.Lock()
	defer fo.mu.Unlock()
	t := fo.byPID[pid]
	return t != nil && !t.Ended()
}

// adopt attaches to all descendants that the targets have now.
func (fo *follower) adopt() {
	fo.enabling.Lock()
	defer fo.enabling.Unlock()
	pids := make([]int, len(fo.targets))
	for i, t := range fo.targets {
		pids[i] = t.Proc.PID()
	}
	fo.watcher.Adopt(pids)
}

// follow attaches to descendants of the targets that have begun since the last look. Only one goroutine at a time calls it. While
// others change what is measured it does nothing: the next round will do.
func (fo *follower) follow() {
	if !fo.enabling.TryLock() {
		return
	}
	defer fo.enabling.Unlock()
	now := time.Now()
	if !fo.watcher.Due(now) {
		return
	}
	fo.members.buryEnded()
	fo.watcher.Poll(now)
	fo.inserter.completeTargets(now)
	fo.mu.Lock()
	defer fo.mu.Unlock()
	fo.members.endWithLast() // what was to be joined again may have ended
}

// join makes a process a target and measures there too what is measured of the others. enabling is held.
func (fo *follower) join(pid int) error {
	if len(fo.targets) >= maxTargets {
		return fmt.Errorf("%d processes are measured already", maxTargets)
	}
	before, again := fo.watcher.Was(pid)
	fo.members.joins = true
	err := fo.members.attachOr(pid, attach.ChildMaySample)
	if fo.members.joins = false; err != nil {
		return err
	}
	t := fo.targets[len(fo.targets)-1]
	fo.mu.Lock()
	t.Child = !again || before.Child
	if !again && children.BornWithin(pid, fo.Now()) {
		t.Times.Late()
	}
	fo.mu.Unlock()
	fo.logf("%s", before.Now(t.Name))
	fo.goLoop(func() { fo.await(t) })
	fo.questions.listCodeOf(t)
	if err := fo.inserter.extend(t); err != nil {
		fo.logf("%s: not everything is measured there: %v", t.Name, err)
	}
	fo.mu.Lock()
	t.Joining = false
	fo.mu.Unlock()
	fo.noteJoin(t)
	return nil
}

// partIn reports whether the pair is measured in a target. mu is held.
func (p *pair) partIn(t *measuring.Process) bool {
	return slices.ContainsFunc(p.parts, func(pt *measuring.Part) bool { return pt.Process == t })
}

// releaseHeirs undoes what children that were never measured have inherited, once their parents have no probes any more.
func (fo *follower) releaseHeirs() {
	for _, pid := range fo.watcher.Heirs() {
		if _, err := target.Restore(pid); err != nil && !errors.Is(err, process.ErrNotFound) && !errors.Is(err, process.ErrZombie) && !errors.Is(err, process.ErrTargetExited) {
			fo.logf("child %d carries what its parent had: %v; culprit restore %d removes it", pid, err, pid)
		}
	}
}

// noteJoin notes, since a process that a target starts runs for a while before probes are in it, for every pair that is measured in a new target whether that has run for long. Those that ran before the session are as
// those that were attached to.
func (fo *follower) noteJoin(t *measuring.Process) {
	age, late := children.LateBy(t.Proc.PID(), fo.Now())
	if !late {
		return
	}
	fo.mu.Lock()
	defer fo.mu.Unlock()
	for _, p := range fo.pairs {
		if slices.ContainsFunc(p.parts, func(pt *measuring.Part) bool { return pt.Process == t && !pt.Plan.KeptByKernel() }) {
			p.late.Note(age)
		}
	}
}

// followLoop looks for new processes after each round.
func (fo *follower) followLoop() {
	for {
		select {
		case <-fo.stopped:
			return
		case <-fo.looks.looked:
			fo.follow()
		}
	}
}

// await marks a target that has ended; the last one ends the session.
func (fo *follower) await(t *measuring.Process) {
	select {
	case <-fo.stopped:
		return
	case <-t.Proc.Done():
	}
	lives := t.Proc.Lives() // as another program
	fo.passes.tick()        // what its cells hold is still there
	t.Lock()
	defer t.Unlock()
	fo.mu.Lock()
	defer fo.mu.Unlock()
	if lives {
		fo.members.endBy(t, process.ErrTargetExeced)
		return
	}
	fo.members.end(t)
}
