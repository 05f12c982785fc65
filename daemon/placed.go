package daemon

import "culprit/grid"

// Placed is in how many places of its targets a pair that is measured has probes. ok is false for one that is not measured, and for one
// that needs no probes: the kernel keeps it, or it is estimated.
func (d *Daemon) Placed(key grid.PairKey) (places int, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pairs[key]
	if p == nil {
		return 0, false
	}
	parts := p.parts
	if p.keyed != nil {
		parts = p.keyed.of.parts
	}
	for _, pt := range parts {
		if pt.meter.Tier() != grid.TierProbe {
			continue
		}
		ok = true
		places += len(pt.sites)
	}
	return places, ok
}
