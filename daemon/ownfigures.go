package daemon

import "culprit/grid"

// What culprit knows of its own work.

// predict is the share of the target's active time that a part will use by what is known of how often its functions are
// called; what was never counted adds nothing. d.mu is held.
func (d *Daemon) predict(p *part) float64 {
	var price grid.Price
	d.add(&price, costed{p.t, p.plan})
	return price.Fraction
}

// predicted is the predicted cost of all pairs that are enabled. d.mu is held.
func (d *Daemon) predicted() (sum float64) {
	for _, p := range d.pairs {
		for _, pt := range p.parts {
			sum += pt.ahead
		}
	}
	return sum + d.rowsCost()
}

// samplingRate is how often a second values are read: once in each interval.
func samplingRate(_ *kernelMeter, interval float64) float64 {
	if interval <= 0 {
		return 0
	}
	return 1 / interval
}

// dropped counts stack samples that the kernel took and for which there was no room any more. All targets share the room: they
// are counted with the first.
func (m *kernelMeter) dropped(float64) float64 {
	if d := m.t.d; d.rings != nil && m.t == d.targets[0] {
		return m.since(float64(d.rings.Lost()))
	}
	return 0
}
