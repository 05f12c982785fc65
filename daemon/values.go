package daemon

import (
	"math"
	"slices"

	"culprit/daemon/measuring"
	"culprit/daemon/probe"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/pcl"
)

// How the values of a pair in all its targets become what its sink is given in a pass.

// sample reads the pair and hands what it was, or has grown by, since p.last to its sink. It returns how many CPUs its probes took.
func (p *pair) sample(s *target.Session, h hold, now float64) (cpus float64) {
	if p.isOver() { // what comes is not known, and not 0
		p.reach(now)
		return 0
	}
	metric, known := s.Library.Metric(p.key.Metric) // pairs that serve others have none
	all := h.holds(p.parts)
	switch {
	case p.holds():
		if all {
			p.sampleHeld(s, metric, known)
		}
	default:
		p.read(h, metric, now)
		if all {
			p.handAll(s, metric, now)
		}
	}
	for _, pt := range p.parts {
		if h[pt.Process] {
			cpus += pt.Price(now)
		}
	}
	p.cpus = cpus
	if all {
		p.reach(now)
	}
	return cpus
}

// reach notes that what the pair was up to a session time was handed on, and how certain all of it is.
func (p *pair) reach(now float64) {
	p.last = now
	p.err, p.estimated = p.uncertainty()
}

// sampleHeld hands on what the values of a gauge were.
func (p *pair) sampleHeld(s *target.Session, metric grid.Metric, known bool) {
	start, end, values := p.axis.Read(s, p.gauges())
	if known && len(values) > 0 {
		p.hold(start, end, metric.Aggregate.CombineHeld(values))
	}
}

// read reads the parts in the targets of a hold.
func (p *pair) read(h hold, metric grid.Metric, now float64) {
	isValue := metric.Style == grid.SampledFunction && !p.totals(metric)
	for _, pt := range p.parts {
		if h[pt.Process] {
			pt.Read(now, isValue)
		}
	}
}

// handAll hands on what was read of all parts since p.last.
func (p *pair) handAll(s *target.Session, metric grid.Metric, now float64) {
	if values := p.taken(); p.totals(metric) {
		p.handTotals(metric, values, now)
	} else {
		p.hand(s, values, now)
	}
	p.distribute(now)
}

// isOver reports whether the last values of all targets that the pair has parts in were taken.
func (p *pair) isOver() bool {
	return len(p.parts) > 0 && !slices.ContainsFunc(p.parts, func(pt *measuring.Part) bool { return !pt.Process.Settled })
}

// sampleKeyed is sample for a pair that chooses a key.
func (p *pair) sampleKeyed(s *target.Session, h hold, now float64) {
	if p.keyed.of.isOver() && len(p.parts) == 0 {
		p.reach(now)
		return
	}
	metric, _ := s.Library.Metric(p.key.Metric)
	p.read(h, metric, now)
	if h.holds(p.parts) && h.holds(p.keyed.of.parts) {
		p.hand(s, append(p.keyed.object.Grown(p.keyed.of.probes()), p.taken()...), now)
		p.reach(now)
	}
}

// taken is by how much the pair has grown in each of its targets, or what its value was there, since p.last.
func (p *pair) taken() (values []float64) {
	for _, pt := range p.parts {
		values = append(values, pt.Take())
	}
	return values
}

// hand gives the sum of values since p.last to the sink, added up as the metric says.
func (p *pair) hand(s *target.Session, values []float64, now float64) {
	if m, ok := s.Library.Metric(p.key.Metric); ok && len(values) > 0 && p.sink != nil {
		p.sink.Sample(p.key, p.last, now, m.Combine(values))
	}
}

// hold gives what a value was in an interval to the sink.
func (p *pair) hold(start, end float64, v grid.Held) {
	switch s := p.sink.(type) {
	case nil:
	case grid.HeldSink:
		s.Hold(p.key, start, end, v)
	default:
		s.Sample(p.key, start, end, v.Mean)
	}
}

// holds reports whether the pair is a gauge in some target: its value holds until it is changed, and is read in all targets together.
func (p *pair) holds() bool { return len(p.gauges()) > 0 }

// gauges are the meters of the pair that are gauges.
func (p *pair) gauges() (list []*probe.Meter) {
	for _, m := range p.probes() {
		if m.Holds() {
			list = append(list, m)
		}
	}
	return list
}

// totals reports whether the pair is a total: what only grows, a timer or the events that the CPU counts, of a metric whose style is that of
// values. Its value is how much it has grown since it was enabled. What the kernel keeps under a name is a value, or a growth, by itself.
func (p *pair) totals(m grid.Metric) bool {
	if m.Style != grid.SampledFunction || len(p.parts) == 0 {
		return false
	}
	plan := p.parts[0].Plan
	return plan.Kind == pcl.WallTimer || plan.Kind == pcl.ProcessTimer || plan.Event != "" || plan.Kind == pcl.Kernel && len(plan.Vars) > 0
}

// handTotals hands to the sink what the parts of a pair have grown to, given by how much since p.last. Between two readings it is taken to have grown evenly.
func (p *pair) handTotals(m grid.Metric, growth []float64, now float64) {
	var values []grid.Held
	for i, pt := range p.parts {
		before := pt.Total
		pt.Total += growth[i]
		values = append(values, grid.Held{Mean: before/2 + pt.Total/2, Min: min(before, pt.Total), Max: max(before, pt.Total), Last: pt.Total})
	}
	p.hold(p.last, now, m.Aggregate.CombineHeld(values))
}

// distribute hands what came into the buckets of the pair since p.last, in all its processes, to its sink.
func (p *pair) distribute(now float64) {
	sink, ok := p.sink.(grid.DistributionSink)
	if !ok {
		return
	}
	var all grid.Distribution
	for _, pt := range p.parts {
		if pt.Probes == nil {
			continue
		}
		if growth := pt.Probes.Distribute(); growth != nil {
			all.Add(growth)
		}
	}
	if all.Count() > 0 {
		sink.Distribute(p.key, p.last, now, &all)
	}
}

// uncertainty is the standard error of the average since the pair was enabled; ok is false where it is exact, or not known yet.
func (p *pair) uncertainty() (err float64, ok bool) {
	var sum float64
	for _, pt := range p.parts {
		v, known := pt.Meter.Variance()
		sum, ok = sum+v, ok || known
	}
	span := p.last - p.since
	return math.Sqrt(sum) / max(span, 1e-9), ok && span > 0
}
