package daemon

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/grid"
	"culprit/pcl"
)

// The whole tree: the children of targets, and theirs, are targets too, those that are there at attach and those that begin
// later. One that has executed a program is measured from a moment after that on. One that was only forked runs its parent's
// code, in which its inherited probes do nothing: it is measured if it lives for more than a moment, so that a shell's children
// on their way to an exec are not held up.

const (
	// youth is how long a child that was forked has time to execute a program. It is asked for new processes with each round of looks.
	youth = 20 * time.Millisecond
	// loading is how long the memory of a program must have kept its size for it to have been loaded, and loadings after how many
	// such times it is measured whatever it does.
	loading  = 50 * time.Millisecond
	loadings = 20
	// waitInterval is after what time a child that cannot be measured yet, because it still runs on its parent's memory, is
	// looked at again.
	waitInterval = time.Second
	// followShare is the share of a processor that looking for new processes may take: where numbers are given out by the thousand,
	// to threads that come and go, it is done more rarely.
	followShare = 0.004
	longestRest = 2 * time.Second
	// scanInterval is how often all processes are looked at, in case one was missed.
	scanInterval = 30 * time.Second
	// maxTargets bounds how many processes one session measures at a time.
	maxTargets = 1024
)

// A family is what is known of the processes that targets have started.
type family struct {
	births   kernel.Births
	scanned  time.Time
	rest     time.Time      // until when nobody looks
	born     time.Time      // the last that a target had
	young    map[int]young  // forked and not yet joined, by pid
	adopting bool           // the targets were just attached to: what they have started is there for a while
	shunned  map[int]uint64 // cannot be measured, by pid: their start time
	again    []int          // were targets and have executed another program
	elders   map[int]bool   // ancestors of the first targets: what loses its parent becomes a child of one of them
	gone     []departed     // what is kept of children that have ended
	seats    int            // targets that there ever were
	measured time.Duration  // processor time of children that were targets until they ended
}

// A young child runs its parent's code, or is just being loaded.
type young struct {
	start uint64
	after time.Time // when to look again
	size  uint64    // of its memory when it was last looked at, if it has executed a program
	looks int
}

func newFamily() *family {
	return &family{young: map[int]young{}, shunned: map[int]uint64{}, elders: map[int]bool{}}
}

// beginFamily notes who adopts the orphans of a target.
func (d *Daemon) beginFamily(pid int) {
	for n := 0; pid > 0 && n < 1000; n++ {
		p, ok := kernel.ParentOf(pid)
		if !ok || d.family.elders[p.Parent] {
			return
		}
		pid = p.Parent
		d.family.elders[pid] = true
	}
}

// maxGenerations bounds how deep the tree of the targets' descendants is looked at when attaching.
const maxGenerations = 100

// adopt attaches to all descendants that the targets have now, one generation after the other.
func (d *Daemon) adopt() {
	d.family.births.Next()
	d.family.scanned = time.Now()
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.targets {
		d.beginFamily(t.Proc.PID())
	}
	d.family.adopting = true
	defer func() { d.family.adopting = false }()
	for range maxGenerations {
		before := len(d.targets)
		for _, p := range d.kin(kernel.Processes()) {
			d.meet(p, time.Now())
		}
		if len(d.targets) == before {
			return
		}
	}
}

// follow attaches to descendants of the targets that have begun since the last look. Only one goroutine at a time calls it. While
// others change what is measured it does nothing: the next round will do.
func (d *Daemon) follow() {
	if !d.enabling.TryLock() {
		return
	}
	defer d.enabling.Unlock()
	now := time.Now()
	if now.Before(d.family.rest) {
		return
	}
	begun := d.begun(now)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.buryEnded()
	for _, p := range d.kin(begun) {
		d.meet(p, now)
	}
	d.meetAgain(now)
}

// begun lists what has begun since the last look, and notes when to look next.
func (d *Daemon) begun(now time.Time) []kernel.Parentage {
	runtime.LockOSThread() // for its clock
	defer runtime.UnlockOSThread()
	before := kernel.OwnThreadTime()
	begun := d.family.births.Next()
	if now.Sub(d.family.scanned) >= scanInterval {
		d.family.scanned = now
		begun = kernel.Processes()
		d.forgetShunned()
	}
	used := kernel.OwnThreadTime() - before
	d.family.rest = now.Add(min(time.Duration(float64(used)/followShare), longestRest))
	return begun
}

// kin picks the descendants of targets.
func (d *Daemon) kin(list []kernel.Parentage) (kin []kernel.Parentage) {
	for _, p := range list {
		if d.isKin(p) {
			kin = append(kin, p)
		}
	}
	return kin
}

// isKin reports whether a process is the child of a target, or was: one whose parent has ended is known by what it has inherited.
func (d *Daemon) isKin(p kernel.Parentage) bool {
	switch {
	case p.PID == os.Getpid():
		return false
	case d.isTarget(p.Parent) || d.knows(p.Parent):
		return true
	case !d.family.elders[p.Parent] || d.isTarget(p.PID) || isOurs(p) || !forkedOnly(p.PID):
		return false
	}
	owner, _, found, err := segment.Owner(p.PID)
	return err == nil && found && owner == os.Getpid()
}

// isOurs reports whether a process is a child of our own on its way to an exec: until then it runs on our memory, in which the targets'
// segments are mapped too. Asked before that memory is looked at: once it has executed a program there is nothing of a target in it.
func isOurs(p kernel.Parentage) bool {
	if p.Parent != os.Getpid() {
		return false
	}
	its, err := os.Stat(fmt.Sprintf("/proc/%d/exe", p.PID))
	own, ownErr := os.Stat("/proc/self/exe")
	return err != nil || ownErr != nil || os.SameFile(its, own)
}

// knows reports whether a process is a descendant of a target that is not measured, or not yet.
func (d *Daemon) knows(pid int) bool {
	if y, ok := d.family.young[pid]; ok {
		return y.start == process.StartTime(pid)
	}
	start, ok := d.family.shunned[pid]
	return ok && start == process.StartTime(pid)
}

// forgetShunned forgets those that have ended.
func (d *Daemon) forgetShunned() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for pid, start := range d.family.shunned {
		if process.StartTime(pid) != start {
			delete(d.family.shunned, pid)
		}
	}
}

// meet makes a descendant a target, or puts it off.
func (d *Daemon) meet(p kernel.Parentage, now time.Time) {
	if d.isTarget(p.PID) || d.family.shunned[p.PID] == p.Start {
		return
	}
	if y, ok := d.family.young[p.PID]; ok && y.start == p.Start {
		return
	}
	if d.family.adopting && !forkedOnly(p.PID) {
		d.takeIn(p, young{start: p.Start}, now)
		return
	}
	d.family.born = now
	d.family.young[p.PID] = young{start: p.Start, after: now.Add(youth)}
}

// grown reports whether a child may be measured now: it still runs what it was forked from, or what it has executed is loaded. A
// program without its libraries has nothing to measure, and perhaps no thread pointer yet.
func (y *young) grown(pid int) bool {
	if forkedOnly(pid) {
		return true
	}
	size, err := kernel.MemorySize(pid)
	same := err == nil && size == y.size
	y.size = size
	y.looks++
	return same || y.looks > loadings
}

// takeIn joins a descendant.
func (d *Daemon) takeIn(p kernel.Parentage, y young, now time.Time) {
	delete(d.family.young, p.PID)
	err := d.join(p.PID)
	switch {
	case err == nil, errors.Is(err, process.ErrNotFound), errors.Is(err, process.ErrZombie), errors.Is(err, process.ErrTargetExited):
	case errors.As(err, new(*process.Deferred)), forkedOnly(p.PID), y.looks <= loadings: // it may run on its parent's memory, or not have begun
		y.looks += loadings / 4
		y.after = now.Add(waitInterval)
		d.family.young[p.PID] = y
	default:
		d.family.shunned[p.PID] = p.Start
		d.logf("child %d is not measured: %v", p.PID, err)
	}
}

// meetAgain looks again at those that were put off, at those where not everything could be measured, and at those that have executed
// another program.
func (d *Daemon) meetAgain(now time.Time) {
	for pid, y := range d.family.young {
		if now.Before(y.after) {
			continue
		}
		p, ok := kernel.ParentOf(pid)
		switch {
		case !ok || p.Start != y.start:
			delete(d.family.young, pid)
		case y.grown(pid):
			d.takeIn(p, y, now)
		default:
			y.after = now.Add(loading)
			d.family.young[pid] = y
		}
	}
	d.completeTargets(now)
	again := d.family.again
	d.family.again = nil
	for _, pid := range again {
		if p, ok := kernel.ParentOf(pid); ok && !d.isTarget(pid) {
			d.family.young[pid] = young{start: p.Start, after: now.Add(loading)}
		}
	}
}

func (d *Daemon) isTarget(pid int) bool {
	t := d.byPID[pid]
	return t != nil && !t.ended
}

// forkedOnly reports whether a child still is the image that it was forked from: the mapping that we made there is in it.
func forkedOnly(pid int) bool {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err != nil || strings.Contains(string(maps), "/memfd:"+segment.Name+" ") || len(maps) == 0
}

// join makes a process a target and measures there too what is measured of the others.
func (d *Daemon) join(pid int) error {
	if len(d.targets) >= maxTargets {
		return fmt.Errorf("%d processes are measured already", maxTargets)
	}
	if err := d.attachOr(pid, childMayFall); err != nil {
		return err
	}
	t := d.targets[len(d.targets)-1]
	t.child = true
	d.logf("%s was started by a target and is measured too", t.Name)
	d.goLoop(func() { d.await(t) })
	d.publish(t)
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
	b := d.newBatch()
	added := map[*pair]*part{}
	var errs []error
	for key, p := range d.pairs {
		if !p.hasPartsIn(t) || !t.Covers(key.Focus) || p.partIn(t) {
			continue
		}
		pt, err := b.part(t, key)
		if err != nil {
			elsewhere := len(key.Focus.Elements(grid.Code)) > 0 || key.Focus.Depth(grid.Defined) > 0 || pcl.NothingThere(err)
			if !elsewhere { // a function of another program is no news
				errs = append(errs, fmt.Errorf("%s: %w", key, err))
			}
			continue
		}
		added[p] = pt
	}
	b.run()
	t.incomplete = time.Time{}
	for p, pt := range added {
		if err := b.missed(pt); err != nil { // a thread stood in the way: another time
			b.abandon(&pair{key: p.key, parts: []*part{pt}})
			t.incomplete = time.Now()
			continue
		}
		p.parts, p.tier = append(p.parts, pt), coarser(p.tier, pt.meter.Tier())
		d.start(&pair{key: p.key, parts: []*part{pt}}, map[*measured]*reading{})
	}
	return errors.Join(errs...)
}

// completeTargets tries again to measure where not everything could be that is measured elsewhere.
func (d *Daemon) completeTargets(now time.Time) {
	for _, t := range d.targets {
		if !t.ended && !t.incomplete.IsZero() && now.Sub(t.incomplete) >= waitInterval {
			_ = d.extend(t) // what cannot be measured there was said when it was joined
		}
	}
}

// releaseYoung undoes what children that were never measured have inherited, once their parents have no probes any more.
func (d *Daemon) releaseYoung() {
	for _, p := range d.kin(kernel.Processes()) {
		if d.isTarget(p.PID) || !forkedOnly(p.PID) {
			continue
		}
		if _, err := Restore(p.PID); err != nil && !errors.Is(err, process.ErrNotFound) && !errors.Is(err, process.ErrZombie) && !errors.Is(err, process.ErrTargetExited) {
			d.logf("child %d carries what its parent had: %v; culprit restore %d removes it", p.PID, err, p.PID)
		}
	}
}
