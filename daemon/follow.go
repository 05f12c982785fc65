package daemon

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"culprit/daemon/attach"
	"culprit/daemon/batch"
	"culprit/daemon/children"
	"culprit/daemon/process"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/pcl"
)

// The whole tree: the children of targets, and theirs, are targets too. Package children tells which process is to be joined and when; what is
// measured of the others is measured there too then.

// maxTargets bounds how many processes one session measures at a time.
const maxTargets = 1024

// host is what the watcher of children may ask for. d.mu must not be held.
func (d *Daemon) host() children.Host {
	return children.Host{IsTarget: d.isTarget, Join: d.join, Logf: d.logf}
}

// isTarget reports whether a process is measured and has not ended.
func (d *Daemon) isTarget(pid int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.byPID[pid]
	return t != nil && !t.ended
}

// adopt attaches to all descendants that the targets have now.
func (d *Daemon) adopt() {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	pids := make([]int, len(d.targets))
	for i, t := range d.targets {
		pids[i] = t.Proc.PID()
	}
	d.mu.Unlock()
	d.watcher.Adopt(pids)
}

// follow attaches to descendants of the targets that have begun since the last look. Only one goroutine at a time calls it. While
// others change what is measured it does nothing: the next round will do.
func (d *Daemon) follow() {
	if !d.enabling.TryLock() {
		return
	}
	defer d.enabling.Unlock()
	now := time.Now()
	if !d.watcher.Due(now) {
		return
	}
	d.mu.Lock()
	d.buryEnded()
	d.mu.Unlock()
	d.watcher.Poll(now)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.completeTargets(now)
	d.endWithLast() // what was to be joined again may have ended
}

// join makes a process a target and measures there too what is measured of the others.
func (d *Daemon) join(pid int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.targets) >= maxTargets {
		return fmt.Errorf("%d processes are measured already", maxTargets)
	}
	before, again := d.watcher.Was(pid)
	if err := d.attachOr(pid, attach.ChildMaySample); err != nil {
		return err
	}
	t := d.targets[len(d.targets)-1]
	if t.child = !again || before.Child; again {
		d.logf("%s has executed another program and is measured as %s now", before.Name, t.Name)
	} else {
		d.logf("%s was started by a target and is measured too", t.Name)
	}
	d.goLoop(func() { d.await(t) })
	d.catalogue.List(t.Objects())
	if err := d.extend(t); err != nil {
		d.logf("%s: not everything is measured there: %v", t.Name, err)
	}
	d.noteJoin(t)
	return nil
}

// partIn reports whether the pair is measured in a target.
func (p *pair) partIn(t *measured) bool {
	return slices.ContainsFunc(p.parts, func(pt *part) bool { return pt.t == t })
}

// extend adds a part in a target to every pair whose focus covers it and that has none there: the target is new, or has new code.
func (d *Daemon) extend(t *measured) error {
	b := batch.New(&d.lingering)
	var come joining
	var errs []error
	for key, p := range d.pairs {
		if !p.hasPartsIn(t) || !t.Covers(key.Focus) || p.partIn(t) {
			continue
		}
		if err := come.add(d, b, p, t); err != nil {
			elsewhere := len(key.Focus.Elements(grid.Code)) > 0 || key.Focus.Depth(grid.Defined) > 0 || pcl.NothingThere(err)
			if !elsewhere { // a function of another program is no news
				errs = append(errs, fmt.Errorf("%s: %w", key, err))
			}
		}
	}
	b.Commit()
	t.incomplete = time.Time{}
	if !d.beginJoined(come) {
		t.incomplete = time.Now() // another time
	}
	return errors.Join(errs...)
}

// completeTargets tries again to measure where not everything could be that is measured elsewhere.
func (d *Daemon) completeTargets(now time.Time) {
	for _, t := range d.targets {
		if !t.ended && !t.incomplete.IsZero() && now.Sub(t.incomplete) >= children.WaitInterval {
			_ = d.extend(t) // what cannot be measured there was said when it was joined
		}
	}
}

// releaseHeirs undoes what children that were never measured have inherited, once their parents have no probes any more.
func (d *Daemon) releaseHeirs() {
	for _, pid := range d.watcher.Heirs() {
		if _, err := target.Restore(pid); err != nil && !errors.Is(err, process.ErrNotFound) && !errors.Is(err, process.ErrZombie) && !errors.Is(err, process.ErrTargetExited) {
			d.logf("child %d carries what its parent had: %v; culprit restore %d removes it", pid, err, pid)
		}
	}
}
