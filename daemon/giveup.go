package daemon

import (
	"time"

	"culprit/daemon/contexts"
	"culprit/daemon/probe"
	"culprit/grid"
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
			if err := pt.code.Disturbs(); err != nil {
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

// What is done where it is found that a program schedules its own contexts.

// narrows is called when that is found of a target: from now on no window of several instructions is planned.
func (t *measured) narrows() {
	t.Plans.OneInstruction(contexts.WhyOneInstruction)
	t.sampleToo(contexts.WhyOneInstruction)
}

// leaveWindows takes out the windows that were written before it was found that the program schedules its own contexts: who was parked
// in one before it was written finds there what he left. Its pairs are put in again where single instructions allow it.
func (d *Daemon) leaveWindows() {
	keys, sinks := d.inWindows()
	if len(keys) == 0 {
		return
	}
	d.Disable(keys)
	d.Settle()
	d.replan()
	for i, key := range keys {
		if r := d.Enable(keys[i:i+1], sinks[i]); r[0].Err != nil {
			d.logf("%s at %s is not measured any more: %v", key.Metric, key.Focus, r[0].Err)
		}
	}
}

// inWindows lists the pairs with probes in windows that must go, of targets where that has not been done.
func (d *Daemon) inWindows() (keys []grid.PairKey, sinks []grid.Sink) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := map[*measured]bool{}
	for _, t := range d.targets {
		if !t.ended && t.Contexts.MustLeave() {
			found[t] = true
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	for key, p := range d.pairs {
		if _, serves := plainKey(key); !serves && p.standsIn(found) {
			keys, sinks = append(keys, key), append(sinks, p.sink)
		}
	}
	return keys, sinks
}

// standsIn reports whether a pair, or the one that serves it, has a site that is too wide in one of these targets.
func (p *pair) standsIn(found map[*measured]bool) bool {
	parts := p.parts
	if p.keyed != nil {
		parts = append(parts[:len(parts):len(parts)], p.keyed.of.parts...)
	}
	for _, pt := range parts {
		if found[pt.t] && pt.code.IsWide() {
			return true
		}
	}
	return false
}

// replan forgets the plans of functions in which nothing is patched, where windows must be narrower now.
func (d *Daemon) replan() {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.targets {
		if !t.Contexts.Scheduled() {
			continue
		}
		t.Sites.Replan()
	}
}
