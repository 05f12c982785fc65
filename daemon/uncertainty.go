package daemon

import (
	"math"

	"culprit/grid"
)

// Uncertainty is the standard error of the average of a pair over the time since it was enabled, in the unit of its rate. ok is false
// for pairs that are not enabled or not of the sample tier, and while there are no samples.
func (d *Daemon) Uncertainty(key grid.PairKey) (err float64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pairs[key]
	if p == nil {
		return 0, false
	}
	return p.uncertainty()
}

func (p *pair) uncertainty() (err float64, ok bool) {
	var sum float64
	for _, pt := range p.parts {
		v, known := pt.meter.Variance()
		sum, ok = sum+v, ok || known
	}
	span := p.last - p.since
	return math.Sqrt(sum) / max(span, 1e-9), ok && span > 0
}
