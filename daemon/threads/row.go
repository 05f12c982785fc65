package threads

import (
	"fmt"
	"time"

	"culprit/daemon/kernel"
)

// A Row is what is known of one thread.
type Row struct {
	TID   int
	Times kernel.ThreadTimes // at the last refresh
	Prev  kernel.ThreadTimes // at the one before

	name       string // element of the Process hierarchy
	rooted     bool   // it is known what it began with
	since      float64
	quietSince float64 // session time since which it has not run
	wakes      float64 // how often a second it is put on a CPU, lately, our stops left out
	sleeps     float64 // how often a second it goes to sleep, the same
	long       bool    // ran for long at a time, between the last two refreshes
	driven     [2]int  // how often we had it make a call until the last two refreshes
	born       bool    // since the refresh before the first that saw it
	round      int

	made     kernel.BlockedCall // the last wait that it was seen in, as it made it
	asked    wait               // the wait that the next three are known for
	polling  bool               // it gives up after a moment, again and again
	counting bool               // it waits for a counter that others write to
	spinning bool               // it looks a few times, and gives its CPU away each time, before it goes to sleep
	parked   bool               // waits with nothing to do, as of the last look
	looked   bool               // at least once
	looks    [nStates]int       // since the last ShareLooks, by State
	share    [nStates]float64   // of time, by State
}

// Is accepts the full name of a thread, "thr_4242", and "4242".
func (r *Row) Is(element string) bool {
	bare := fmt.Sprintf("thr_%d", r.TID)
	return element == r.name || element == bare || element == bare[4:]
}

// bornNow makes everything that the kernel counted for a thread before it was first seen part of the interval in which it started.
func (r *Row) bornNow() {
	r.born = true
	r.Prev.Voluntary, r.Prev.Forced = 0, 0
	r.Prev.MinorFaults, r.Prev.MajorFaults = 0, 0
	r.Prev.User, r.Prev.System = 0, 0
}

// TakeBorn tells once that the thread began since the refresh before the first that saw it. Its Prev has the CPU time that it had used
// when it was first seen.
func (r *Row) TakeBorn() bool {
	born := r.born
	r.born = false
	return born
}

// ours is what we did to a thread in an interval: how often we have stopped its process, and how often we had it make a call for us meanwhile.
type ours struct{ stops, calls uint64 }

// slices is how often that had it put on a CPU at most.
func (o ours) slices() uint64 { return slicesOfStop*o.stops + slicesOfCall*o.calls }

// run is for how long it ran for that at most.
func (o ours) run() time.Duration { return runOfStop * time.Duration(o.stops+o.calls) }

// update takes a new accounting, an interval after the last one.
func (r *Row) update(k kernel.ThreadTimes, at, interval float64, did ours, isNew bool) {
	if r.ranByItself(k, did) {
		r.quietSince = at
	}
	r.countWakes(k, did, interval)
	r.noteRuns(k, isNew)
	r.Times = k
}

// What stopping a blocked thread and letting it go costs it at most: it is put on a CPU to stop, to go back into its call, and more often
// where others want the CPU. That is our doing and not work of its own.
const (
	slicesOfStop = 6
	slicesOfCall = 3 // to go on, and to stop again
	runOfStop    = time.Millisecond
)

// ranByItself tells whether a thread has run since its last row for another reason than what we did.
func (r *Row) ranByItself(k kernel.ThreadTimes, did ours) bool {
	if did == (ours{}) {
		return k.Slices != r.Prev.Slices || k.Run != r.Prev.Run
	}
	return k.Slices-r.Prev.Slices > did.slices() || k.Run-r.Prev.Run > did.run()
}

// wakesMemory is over how long the rate of wakes is taken, in seconds.
const wakesMemory = 2.0

func (r *Row) countWakes(k kernel.ThreadTimes, did ours, interval float64) {
	if interval <= 0 {
		return
	}
	n := float64(k.Slices-r.Prev.Slices) - float64(did.slices())
	r.wakes += (max(n, 0)/interval - r.wakes) * min(interval/wakesMemory, 1)
	n = float64(k.Voluntary) - float64(r.Prev.Voluntary) - float64(did.slices())
	r.sleeps += (max(n, 0)/interval - r.sleeps) * min(interval/wakesMemory, 1)
}

// longRun is for how long a thread must run at a time, on average, for RunsLong.
const longRun = time.Millisecond

// noteRuns notes whether the thread ran for long at a time since it was seen last, and when it is new since it began.
func (r *Row) noteRuns(k kernel.ThreadTimes, isNew bool) {
	run, slices := k.Run, k.Slices
	if !isNew {
		run, slices = run-r.Prev.Run, slices-r.Prev.Slices
	}
	r.long = run >= longRun*time.Duration(max(slices, 1))
}

// OffCPU is the time of an interval between two refreshes in which the thread neither ran nor was ready, in seconds.
func (r *Row) OffCPU(interval float64) float64 {
	used := (r.Times.Run - r.Prev.Run) + (r.Times.RunQueueWait - r.Prev.RunQueueWait)
	return max(interval-used.Seconds(), 0)
}

// Waiting is the part of OffCPU in which the thread had something to wait for, as far as looks at it saw.
func (r *Row) Waiting(interval float64) float64 {
	blocked := r.blockedShare()
	if blocked == 0 {
		if r.parked {
			return 0
		}
		return r.OffCPU(interval)
	}
	return r.OffCPU(interval) * r.share[Waiting] / blocked
}

func (r *Row) blockedShare() float64 { return r.share[Waiting] + r.share[Idle] + r.share[unfed] }

// idle is for what part of an interval the thread had nothing to do, and for what part it waited for a thread that had nothing to do, as far as
// looks at it saw.
func (r *Row) idle(interval float64) (own, others float64) {
	blocked, off := r.blockedShare(), r.OffCPU(interval)/interval
	switch {
	case blocked > 0:
		return off * r.share[Idle] / blocked, off * r.share[unfed] / blocked
	case r.parked:
		return off, 0
	}
	return 0, 0
}

// HeldUp is Waiting with the time for which the thread was ready after such a wait: what it was ready for after it had had nothing to do, or had to
// give up its CPU with nothing to wait for, is left out in proportion.
func (r *Row) HeldUp(interval float64) float64 {
	ready, blocked := (r.Times.RunQueueWait - r.Prev.RunQueueWait).Seconds(), r.blockedShare()
	if blocked > 0 {
		ready *= r.share[Waiting] / blocked
	}
	return r.Waiting(interval) + ready
}

// ReadyAfterWait is the time for which the thread was ready because a wait of it was over: the part of its switches that it asked for, and of those the
// part behind which it had something to wait for, as far as looks at it saw.
func (r *Row) ReadyAfterWait() float64 {
	blocked := r.blockedShare()
	if blocked == 0 {
		return 0
	}
	return (r.Times.RunQueueWait - r.Prev.RunQueueWait).Seconds() * (1 - r.Displaced()) * r.share[Waiting] / blocked
}

// Active is the share of an interval in which the thread was not idle, 0 to 1.
func (r *Row) Active(interval float64) float64 {
	return min((interval-r.OffCPU(interval)+r.Waiting(interval))/interval, 1)
}

// Displaced is the share of the thread's waits for a CPU that began when it had to give one up; the others followed a wait for something
// else, whose stack the thread still has.
func (r *Row) Displaced() float64 {
	forced, voluntary := float64(r.Times.Forced-r.Prev.Forced), float64(r.Times.Voluntary-r.Prev.Voluntary)
	if !(forced+voluntary > 0) {
		return 1
	}
	return forced / (forced + voluntary)
}
