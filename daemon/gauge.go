package daemon

import (
	"culprit/daemon/probe"
	"culprit/grid"
)

// Gauges: pairs whose value holds until it is changed. They are read in all targets together.

// holds reports whether the pair is a gauge in some target.
func (p *pair) holds() bool { return len(p.gauges()) > 0 }

// gauges are the meters of the pair that are gauges.
func (p *pair) gauges() (list []*probe.Meter) {
	for _, pt := range p.parts {
		if pt.probes != nil && pt.probes.Holds() {
			list = append(list, pt.probes)
		}
	}
	return list
}

// sampleGauge reads a gauge in all targets of a pair and hands what it was since the last reading to the sink. It returns how many CPUs
// its probes took.
func (d *Daemon) sampleGauge(p *pair, interval float64) (cpus float64) {
	start, end, values := p.axis.Read(d.session, p.gauges())
	for _, pt := range p.parts {
		cpus += pt.price(interval)
	}
	if m, ok := d.session.Library.Metric(p.key.Metric); ok && len(values) > 0 && p.sink != nil {
		d.holdOn(p, start, end, m.Aggregate.CombineHeld(values))
	}
	return cpus
}

// holdOn hands a value to the sink of a pair.
func (d *Daemon) holdOn(p *pair, start, end float64, v grid.Held) {
	if s, ok := p.sink.(grid.HeldSink); ok {
		s.Hold(p.key, start, end, v)
		return
	}
	p.sink.Sample(p.key, start, end, v.Mean)
}
