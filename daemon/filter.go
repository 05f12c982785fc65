package daemon

import (
	"time"

	"culprit/daemon/probe"
)

// Probes that read a clock of processor time, or memory behind a pointer, make system calls in the target. Where a filter
// (seccomp(2)) may end the target for that, there are none. A program that puts itself under one later is seen at the next pass.

// someThreads is of how many threads it is looked five times a second whether they are under a filter.
const someThreads = 16

// watchFilters takes out the probes that make system calls where a target has put itself under a filter since.
func (d *Daemon) watchFilters() {
	filtered := map[*measured]bool{}
	for _, p := range d.pairs {
		kept := p.parts[:0]
		for _, pt := range p.parts {
			if pt.t.Fit.Keyless() != 0 {
				d.lingering.Add(pt)
				d.logf("%s: %v is no longer measured: thread %d of the program has given up its thread pointer", pt.t.Name, pt.plan.Pair, pt.t.Fit.Keyless())
				continue
			}
			if err := pt.disturbs(); err != nil {
				d.lingering.Add(pt)
				d.lingering.Hurry(pt)
				d.hurry.Store(true)
				d.logf("%s: %v is no longer measured: %v", pt.t.Name, pt.plan.Pair, err)
				continue
			}
			if pt.probes != nil && pt.probes.MakesSyscalls() && pt.t.filteredSince(filtered) {
				d.giveUp(pt)
				continue
			}
			kept = append(kept, pt)
		}
		p.parts = kept
	}
}

// disturbs is why a site of the part may not stay: it lies in a restartable sequence that was seen meanwhile. nil if none does.
func (p *part) disturbs() error {
	for _, s := range p.sites {
		if err := p.t.Sequences.Refusal(s); err != nil {
			return err
		}
	}
	return nil
}

// filteredSince looks once a round.
func (t *measured) filteredSince(seen map[*measured]bool) bool {
	is, ok := seen[t]
	if !ok {
		f, err := t.Proc.Filtered(someThreads)
		is = err == nil && f
		seen[t] = is
	}
	return is
}

// giveUp switches a part off at once; it is taken out within the next seconds. What rows can tell is measured by them from then on.
func (d *Daemon) giveUp(pt *part) {
	d.lingering.Add(pt)
	if pt.probes.AsksKernel() == probe.TimingCPU && pt.t.Stats.Keep() == nil {
		pt.t.incomplete = time.Now()
		return
	}
	d.logf("%s: %v is no longer measured: %s makes system calls, and the program has put itself under a seccomp filter", pt.t.Name, pt.plan.Pair, pt.probes.AsksKernel())
}
