package daemon

import (
	"cmp"
	"time"

	"culprit/daemon/measuring"
	"culprit/daemon/probe"
)

// Probes that read a clock of processor time, or memory behind a pointer, make system calls in the target. Where a filter
// (seccomp(2)) may end the target for that, there are none. A program that puts itself under one later is seen at the next pass.

// watchForbidden notes in which targets a thread has forbidden itself since what probes do.
func (ps *passes) watchForbidden(h hold) {
	for t := range h {
		if t.Seg != nil && ps.members.lives(t) && t.Fit.Refuse() == nil {
			t.Fit.Note(t.Proc.Forbids())
		}
	}
}

// watchFilters takes out the probes that make system calls where a target has put itself under a filter since.
func (ps *passes) watchFilters(h hold) {
	filtered := map[*measuring.Process]bool{}
	for _, p := range ps.pairs {
		kept := p.parts[:0]
		for _, pt := range p.parts {
			if !h[pt.Process] {
				kept = append(kept, pt)
				continue
			}
			if err := cmp.Or(pt.Process.Fit.Refuse(), pt.Code.Disturbs()); err != nil {
				ps.lingering.Add(pt)
				ps.lingering.Hurry(pt)
				ps.hurry.Store(true)
				ps.logf("%s: %v is no longer measured: %v", pt.Process.Name, pt.Plan.Pair, err)
				continue
			}
			if pt.Probes != nil && pt.Probes.MakesSyscalls() && filteredSince(pt.Process, filtered) {
				ps.giveUp(pt)
				continue
			}
			kept = append(kept, pt)
		}
		p.parts = kept
	}
}

// giveUp switches a part off at once; it is taken out within the next seconds. What rows can tell is measured by them from then on.
func (ps *passes) giveUp(pt *measuring.Part) {
	ps.lingering.Add(pt)
	if pt.Probes.AsksKernel() == probe.TimingCPU && pt.Process.Stats.Keep() == nil {
		pt.Process.Incomplete = time.Now()
		return
	}
	ps.logf("%s: %v is no longer measured: %s makes system calls, and the program has put itself under a seccomp filter", pt.Process.Name, pt.Plan.Pair, pt.Probes.AsksKernel())
}

// someThreads is of how many threads it is looked five times a second whether they are under a filter.
const someThreads = 16

// filteredSince tells whether a target is under a filter now. It looks once a round.
func filteredSince(t *measuring.Process, seen map[*measuring.Process]bool) bool {
	is, ok := seen[t]
	if !ok {
		f, err := t.Proc.Filtered(someThreads)
		is = err == nil && f
		seen[t] = is
	}
	return is
}
