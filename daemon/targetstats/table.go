package targetstats

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/threads"
	"culprit/daemon/threadstats"
	"culprit/trampoline"
)

// Config is what a table needs of its target.
type Config struct {
	Name     string // of the target, for people
	Proc     *process.Process
	Threads  *threads.Table
	Programs *Programs
	// Filtered reports whether the target's system calls are filtered, so that its probes may make none.
	Filtered func() bool
	// Logf tells people what went wrong without ending anything.
	Logf func(format string, args ...any)
	// Kept is what the kernel keeps of the target already; nil if nothing.
	Kept *threadstats.Table
}

// A Table has the per-thread statistics of one target. Without Close the kernel keeps them on.
type Table struct {
	Config
	seg      *segment.Segment // nil in a target without probes
	kept     *threadstats.Table
	isKept   atomic.Bool // that there is one
	lives    map[int]int // how many threads a row had that were given back, by row
	unkept   error       // why the kernel keeps none
	unmapped error       // why the target cannot have them
	release  func()      // of wake-ups, which are kept for the sake of the target; nil if they are not
}

// New is the table of a target of which nothing is kept, but for what the configuration has.
func New(c Config) *Table {
	t := &Table{Config: c, lives: map[int]int{}}
	t.keep(c.Kept)
	return t
}

func (t *Table) keep(kept *threadstats.Table) {
	t.kept = kept
	t.isKept.Store(kept != nil)
}

// Use makes a segment that of the target, in which its probes will find the statistics.
func (t *Table) Use(s *segment.Segment) { t.seg = s }

// IsKept reports whether the kernel keeps statistics of the target. Any goroutine may ask.
func (t *Table) IsKept() bool { return t.isKept.Load() }

// IsMapped reports whether the target maps them.
func (t *Table) IsMapped() bool { return t.seg != nil && t.seg.HasRows() }

// Size is the length of the mapping in bytes, 0 if nothing is kept.
func (t *Table) Size() int {
	if t.kept == nil {
		return 0
	}
	return t.kept.Size()
}

// MayBeMapped reports whether the target maps statistics, or would as far as that is known without asking the kernel.
func (t *Table) MayBeMapped() bool { return t.unmapped == nil && t.unkept == nil }

// Keep has the kernel keep statistics for the target's threads.
func (t *Table) Keep() error {
	if t.kept != nil || t.unkept != nil {
		return t.unkept
	}
	keeper, err := t.Programs.open()
	if err == nil {
		slots := trampoline.DefaultGeometry(t.Threads.Count()).Slots
		if t.seg != nil {
			slots = t.seg.Slots
		}
		var kept *threadstats.Table
		if kept, err = keeper.Watch(t.Proc.PID(), slots); err == nil {
			t.keep(kept)
		}
	}
	if t.unkept = err; err != nil {
		t.Logf("%s: there are no per-thread statistics (eBPF): %v", t.Name, err)
	}
	t.FollowWaits()
	return err
}

// FollowWaits has wake-ups kept for a target whose probes may not ask the kernel: where a row does not know that its thread is back, they
// go by when it was woken.
func (t *Table) FollowWaits() {
	if t.release != nil || t.kept == nil || !t.Filtered() && !t.kept.Filtered() {
		return
	}
	if release, err := t.Programs.Need(threadstats.RunQueueWait, false); err == nil {
		t.release = release
	}
}

// Close ends this process's side of the statistics.
func (t *Table) Close() {
	if t.release != nil {
		t.release()
		t.release = nil
	}
	if t.kept != nil {
		t.kept.Close()
		t.keep(nil)
	}
}

// monotonic is CLOCK_MONOTONIC in ns, by which the kernel's statistics tell time.
func monotonic() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
