package daemon

import (
	"culprit/daemon/contexts"
	"culprit/grid"
)

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
		for _, s := range pt.sites {
			if found[pt.t] && contexts.Wide(s.Site) {
				return true
			}
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
