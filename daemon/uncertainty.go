package daemon

import (
	"math"

	"culprit/grid"
)

// Variance is the square of the standard error of what a part has counted, in seconds squared; ok is false before the first sample.
// Samples are taken for independent, which overrates the error where a thread stays in one place for long. One sample more
// than there were is reckoned, so that what was never seen is not taken to be certainly nothing.
func (e *sampleMeter) Variance() (v float64, ok bool) {
	total := e.s.total[e.clock]
	n, sum := total.n-e.before.n, total.sum-e.before.sum
	if n < 1 {
		return 0, false
	}
	mean := sum / n
	share := min((e.own.sum+mean)/(sum+2*mean+math.SmallestNonzeroFloat64), 1)
	return (e.own.squares + mean*mean) * (1 - share), true
}

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
