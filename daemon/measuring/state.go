package measuring

import (
	"culprit/daemon/children"
	"culprit/daemon/clocks"
	"culprit/daemon/kernel"
	"culprit/daemon/probe"
	"culprit/grid"
	"culprit/pcl"
)

// NeedsProbes refuses what only trampolines can tell.
func (t *Process) NeedsProbes(what string) error {
	if !t.OnlyLooked() {
		return nil
	}
	return grid.ErrUnsupported{What: what + " of " + t.Name, Needs: "probes, and it is measured by stack samples (" + t.WhySampled + ")"}
}

// EndedTimes is what a target that has ended has used. Of one that executes another program now nothing comes to its parent yet.
func (t *Process) EndedTimes() children.Ended {
	used := t.Times.Ended()
	if t.Execed {
		used.Known = 0
	}
	return used
}

// ReadTimes takes how much processor time a target and its children have used. One that has ended keeps the last.
func (t *Process) ReadTimes() {
	if !t.Ended() {
		t.Times.Read(t.Proc.PID())
	}
}

// mostNew is at how many new threads a refresh looks; the others wait for their turn.
const mostNew = 64

// RefreshThreads brings up to date, at a session time, what is known of the threads, and whether a control group has frozen them.
func (t *Process) RefreshThreads(now float64) {
	t.Threads.Refresh(now, t.Stops.Count())
	t.Threads.SetFrozen(t.freeze.of(t) != "")
	t.Threads.LookAtNew(now, mostNew)
	t.Threads.ShareLooks()
}

// fileWord is where probes have what a descriptor stands for; nil while there is no segment.
func (t *Process) fileWord(fd int) *uint64 {
	if t.Seg == nil {
		return nil
	}
	return t.Seg.FileWord(fd)
}

// mayReadMemory tells whether probes may read what pointers lead to.
func (t *Process) mayReadMemory() bool { return probe.MayAsk(t.Target, probe.ReadingMemory) == nil }

// MayHaveLoaded reports whether the target maps more or less than when it was last asked. Where one object was put in the place of
// another of the same size it does not: all mappings are looked at now and then, and before each change of the text.
func (t *Process) MayHaveLoaded() bool {
	size, err := kernel.MemorySize(t.Proc.PID())
	same := err == nil && size == t.size
	t.size = size
	return !same
}

// ReadBlocks reads the thread blocks of the target for a pass. calm says that no thread has begun and ended since the last one.
func (t *Process) ReadBlocks(now float64, calm bool) {
	t.Blocks.Read(now, probe.State{Calm: calm, Ended: t.Ended(), Settled: t.Settled})
}

// Clocked is the target as package clocks knows it.
func (t *Process) Clocked() clocks.Target {
	return clocks.Target{Target: t.Target, Rates: &t.Rates, Ended: t.Ended()}
}

// ReadsStatistics tells whether the probes of a plan would read per-thread statistics; nothing of the target is touched.
func (t *Process) ReadsStatistics(plan *pcl.Plan) bool { return t.Common.Clocks.Reads(t.Target, plan) }
