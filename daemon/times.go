package daemon

import (
	"maps"
	"slices"
	"time"

	"culprit/daemon/children"
	"culprit/daemon/measuring"
)

// The times are what the targets and their children have used. Of what processes that a target has started have used, and that have ended, nobody has
// measured something.
type times struct {
	*state
	members *members
	// CPU time of children that ended before they could be measured, as of the last pass, and as it was summed up then; mu guards both.
	unmeasured, summed time.Duration
}

// settleEnded notes for which targets that have ended the last values were handed on, now at the latest: a pair waits until all processes that it is
// measured in were read, and one of them may have been left out. mu is held.
func (ts *times) settleEnded(h hold, now float64) {
	waiting := slices.DeleteFunc(slices.Collect(maps.Values(ts.pairs)), func(p *pair) bool { return p.last >= now })
	for t := range h {
		t.Settled = t.Settled || t.Ended() && !slices.ContainsFunc(waiting, func(p *pair) bool { return p.partIn(t) })
	}
}

// timedAlways is of how many of the first targets the times are read in each pass; of more that is when their code is looked for.
const timedAlways = 16

// noteTimes takes the processor time of the targets that others have started, which end at any moment: what they have used until then comes to their parents'
// children. Of the first targets, and of the first of those, it also takes that of their children, and sums up what of it nobody has measured. What grows
// only for one pass is a child that was measured and whose end was seen late; what shrinks is one whose parent has not waited for it. mu is held.
func (ts *times) noteTimes() {
	read := map[bool]int{} // how many of the first targets, and of those that they have started
	for _, t := range ts.targets {
		if t.Child && !t.Ended() {
			t.Times.ReadOwn(t.Proc.PID())
		}
		if read[t.Child] < timedAlways && !t.Ended() {
			read[t.Child]++
			t.ReadTimes()
		}
	}
	sum, _ := ts.childrenTimes().Unmeasured()
	ts.unmeasured, ts.summed = max(ts.unmeasured, min(sum, ts.summed)), sum
}

// missesChildren reports whether processes that the targets have started have ended and nobody saw them: the kernel counts the faults of those that
// were waited for. Where some of them were measured it cannot be told whether others were not. mu is held.
func (ts *times) missesChildren() bool {
	ended := func(t *measuring.Process) bool { return t.Child && t.Ended() }
	if !ts.opts.Children || len(ts.members.departed.list) > 0 || slices.ContainsFunc(ts.targets, ended) {
		return false
	}
	return slices.ContainsFunc(ts.targets, func(t *measuring.Process) bool { t.ReadTimes(); return t.Times.LostChildren() })
}

// UnmeasuredChildren is how much processor time went to processes that the targets have started and that ended before they could be measured, and
// what share that is of all that the program has used since the attach; 0 if it is next to nothing.
func (ts *times) UnmeasuredChildren() (used time.Duration, share float64) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.targets {
		t.ReadTimes()
	}
	return ts.childrenTimes().Unmeasured()
}

// childrenTimes adds up what the tree of the targets has used, as it was last read. mu is held.
func (ts *times) childrenTimes() *children.Sum {
	var sum children.Sum
	sum.AddEnded(ts.members.departed.used)
	for _, t := range ts.targets {
		if t.Child && t.Ended() {
			sum.AddEnded(t.EndedTimes())
		} else {
			sum.Add(&t.Times)
		}
	}
	sum.AddSampled(ts.members.watcher.Ran())
	return &sum
}
