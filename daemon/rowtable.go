package daemon

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"culprit/daemon/probe"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// What the kernel keeps for each thread of a target (package rows) is mapped into the target, so that a probe reads it with a load
// instruction. Both are done when a pair first asks for them: loading the kernel's side takes a few tens of milliseconds, mapping a
// stop of the target.

// A rowKeeper is the kernel's side, opened when it is first asked for.
type rowKeeper struct {
	once   sync.Once
	keeper *threadstats.Keeper
	err    error
}

func (r *rowKeeper) open() (*threadstats.Keeper, error) {
	r.once.Do(func() { r.keeper, r.err = threadstats.Open() })
	return r.keeper, r.err
}

// unreadFor is for how long nobody must have read rows for them to stand still: to begin again takes a few milliseconds.
const unreadFor = 400 * time.Millisecond

// rest has the kernel's side do nothing while nobody reads rows.
func (r *rowKeeper) rest() {
	if r.keeper != nil {
		r.keeper.Rest(unreadFor)
	}
}

// running reports whether programs keep rows.
func (r *rowKeeper) running() bool { return r.keeper != nil && !r.keeper.Resting() }

// close ends it. No table may be in use any more.
func (r *rowKeeper) close() {
	r.once.Do(func() { r.err = errors.New("the session is over") })
	if r.keeper != nil {
		r.keeper.Close()
	}
}

// kernelRows are the rows of one target.
type kernelRows struct {
	table    *threadstats.Table
	unwatch  error // why the kernel keeps none
	unmapped error // why the target cannot have them
	wakeups  bool  // they are kept for its sake
}

// hasRows reports whether the target maps rows.
func (t *measured) hasRows() bool { return t.Seg != nil && t.Seg.HasRows() }

// watchRows has the kernel keep rows for the target's threads.
func (t *measured) watchRows() error {
	k := &t.kept
	if k.table != nil || k.unwatch != nil {
		return k.unwatch
	}
	keeper, err := t.d.rows.open()
	if err == nil {
		slots := trampoline.DefaultGeometry(t.Threads.Count()).Slots
		if t.Seg != nil {
			slots = t.Seg.Slots
		}
		k.table, err = keeper.Watch(t.Proc.PID(), slots)
	}
	if k.unwatch = err; err != nil {
		t.Logf("%s: there are no per-thread statistics (eBPF): %v", t.Name, err)
	}
	t.tellWaits()
	return err
}

// tellWaits has wake-ups kept for a target whose probes may not ask the kernel: where a row does not know that its thread is back, they
// go by when it was woken.
func (t *measured) tellWaits() {
	k := &t.kept
	if k.wakeups || k.table == nil || t.Seccomp == 0 && !k.table.Filtered() {
		return
	}
	k.wakeups = t.d.rows.keeper.Need(threadstats.RunQueueWait) == nil
}

// mapRows makes the rows readable for the target's probes.
func (t *measured) mapRows() error {
	k := &t.kept
	if t.hasRows() || k.unmapped != nil {
		return k.unmapped
	}
	k.unmapped = t.watchRows()
	if k.unmapped == nil {
		k.unmapped = segment.AffordsMappings(t.Proc)
	}
	if k.unmapped == nil {
		k.unmapped = t.Seg.MapRows(t.stop, k.table.FD(), k.table.Size())
	}
	var deferred *process.Deferred
	if errors.As(k.unmapped, &deferred) { // it may work the next time
		err := k.unmapped
		k.unmapped = nil
		return err
	}
	if k.unmapped != nil {
		t.Logf("%s: its probes cannot read the per-thread statistics (eBPF): %v", t.Name, k.unmapped)
	}
	return k.unmapped
}

// linkRows gives blocks that were claimed before their thread had a row, or before the rows were there, the address of it.
func (t *measured) linkRows() {
	k := &t.kept
	if !t.hasRows() {
		return
	}
	for slot := range t.Seg.Slots {
		if t.Seg.Claims()[slot] == 0 || t.Seg.Load(slot, trampoline.BlockRow) != 0 {
			continue
		}
		if tp := t.Seg.Load(slot, 0); tp != 0 {
			if i, ok := k.table.Find(tp); ok {
				t.Seg.Store(slot, trampoline.BlockRow, trampoline.RowWord(i))
			}
		}
	}
}

// rowOf is the number of the row that a block's thread reads.
func (t *measured) rowOf(slot int) (index int, ok bool) {
	if !t.hasRows() {
		return 0, false
	}
	return t.Seg.RowIndex(t.Seg.Load(slot, trampoline.BlockRow))
}

// freeRow gives back the row of a dead thread whose block was freed.
func (t *measured) freeRow(tp uint64) {
	if t.kept.table == nil {
		return
	}
	if i, ok := t.kept.table.Find(tp); ok {
		t.kept.table.Free(i)
	}
}

// closeRows ends the daemon's side of the rows.
func (t *measured) closeRows() {
	if t.kept.wakeups {
		t.d.rows.keeper.Release(threadstats.RunQueueWait)
		t.kept.wakeups = false
	}
	if t.kept.table != nil {
		t.kept.table.Close()
		t.kept.table = nil
	}
}

// wantsRows tells which timers of a plan read rows: of processor time, which can ask the kernel instead, and of what only the kernel
// keeps.
func wantsRows(plan *pcl.Plan) (cpu, kept bool) {
	for _, v := range plan.Vars {
		cpu = cpu || v.Kind == pcl.ProcessTimer
		kept = kept || v.Kind == pcl.Kernel
	}
	return cpu, kept
}

// timesRows decides whether a plan is to read rows, and makes them ready. d.mu is held.
func (t *measured) timesRows(plan *pcl.Plan) (bool, error) {
	cpu, kept := wantsRows(plan)
	if !cpu && !kept || !kept && t.asks(plan) && probe.MayAsk(t.Target, probe.TimingCPU) == nil {
		return false, nil
	}
	err := t.mapRows()
	if kept && err != nil {
		return false, noRows(plan, err)
	}
	return err == nil, nil
}

// readsRows tells whether the probes of a plan would read rows; nothing of the target is touched.
func (t *measured) readsRows(plan *pcl.Plan) bool {
	cpu, kept := wantsRows(plan)
	return kept || cpu && !t.asks(plan) && t.mayHaveRows()
}

// mayHaveRows tells whether the target has rows, or would as far as that is known.
func (t *measured) mayHaveRows() bool {
	switch {
	case t.kept.unmapped != nil, t.kept.unwatch != nil:
		return false
	case t.hasRows(), t.d.rowsTooDear():
		return true // in the second case nobody needs to know
	}
	_, err := t.d.rows.open()
	return err == nil
}

func noRows(plan *pcl.Plan, err error) error {
	return fmt.Errorf("metric %q: %w", plan.Pair.Metric, grid.ErrUnsupported{What: fmt.Sprintf("kernel(%q) of this target", plan.KernelName), Needs: err.Error()})
}
