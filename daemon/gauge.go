package daemon

import (
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// Gauges: pairs whose value holds until it is changed. Probes keep what trampoline/gauge.go says; each pass takes the difference of two
// integrals, and the extremes since the pass before. What a thread is about to note while a pass reads is in the next one: its integral
// reaches back to when the change was, so that nothing is lost. All words are the target's: whatever they hold, a pass reads each of them
// once, and what comes of it is a finite number.

// A gaugeSum is what one reading found: of a thread block, or of all blocks together.
type gaugeSum struct {
	changes, area uint64 // see trampoline.GaugeValue and GaugeArea
	value         int64  // what the gauge was
	most, least   uint64 // keys of the extremes since the last reading; 0 = nothing has changed it
	since         uint64 // when it was first set; 0 = never
}

// integral is that of the value from the first change up to a time, modulo 2^64.
func (s *gaugeSum) integral(tsc uint64) uint64 { return s.changes*tsc - s.area }

// A gaugeState is the last reading of a part of a gauge.
type gaugeState struct {
	sums    map[int]gaugeSum     // by thread block, or under allSlots
	touched map[int]bool         // blocks whose threads have changed or set it
	fresh   map[int]gaugeSum     // the reading that is under way, of what counts
	unclear bool                 // a mean was not known, and it was said
	owners  map[int]*threads.Row // by thread block: whose value it is
	handed  bool                 // a thread began with what another one has left in its block
}

// holds reports whether the part is a gauge.
func (p *part) holds() bool { return p.plan.Kind.Holds() && p.meter.Tier() == grid.TierProbe }

// holds reports whether the pair is a gauge in some target.
func (p *pair) holds() bool { return len(p.gauges()) > 0 }

// gauges are the parts of the pair that are gauges.
func (p *pair) gauges() (list []*part) {
	for _, pt := range p.parts {
		if pt.holds() {
			list = append(list, pt)
		}
	}
	return list
}

// shared reports whether the part is one value of the whole process.
func (p *part) shared() bool { return p.plan.Kind == pcl.Gauge }

// readGauge reads the cells, and takes the extremes out of them. A target that has ended is read once more: afterwards there is no value.
func (p *part) readGauge(r *reading) {
	p.gauge.fresh = map[int]gaugeSum{}
	if p.t.Seg == nil || len(p.Cells) == 0 || p.t.settled {
		return
	}
	var all gaugeSum
	summed := p.aggregate() == grid.Sum
	for _, slot := range r.slots {
		s, touched := p.takeGauge(slot)
		if touched {
			p.notesOwner(r, slot, s)
			p.gauge.touched[slot] = true
		}
		switch {
		case p.shared():
			all.join(s)
		case !p.gauge.touched[slot]:
		case p.countsIn(r, slot, summed):
			p.gauge.fresh[slot] = s
		default:
			p.gauge.sums[slot] = s
		}
	}
	if p.shared() {
		all.value = int64(p.t.Seg.Load(p.t.Seg.OverflowBlock(), p.Cells[0].Off+trampoline.GaugeShared))
		p.gauge.fresh[allSlots] = all
	}
}

// takeGauge reads the cell of one block. The pair of words is read at once, as it is changed. A cell that no thread has touched is not
// written to, so that it needs no memory.
func (p *part) takeGauge(slot int) (s gaugeSum, touched bool) {
	seg, at := p.t.Seg, p.Cells[0].Off
	var all uint64
	for off := int32(0); off < trampoline.GaugeShared; off += trampoline.WordSize {
		all |= seg.Load(slot, at+off)
	}
	if all == 0 {
		return s, false
	}
	s.changes, s.area = seg.LoadPair(slot, at+trampoline.GaugeValue)
	s.value = int64(s.changes)
	s.most, s.least = seg.Take(slot, at+trampoline.GaugeMost), seg.Take(slot, at+trampoline.GaugeLeast)
	s.since = seg.Load(slot, at+trampoline.GaugeSince)
	return s, true
}

// join adds what another thread did to the same gauge.
func (s *gaugeSum) join(o gaugeSum) {
	s.changes += o.changes
	s.area += o.area
	s.most, s.least = max(s.most, o.most), max(s.least, o.least)
	if s.since == 0 || o.since != 0 && o.since < s.since {
		s.since = o.since
	}
}

// countsIn reports whether the value in a block counts: what ended threads have left counts in a sum only, as it does for counters.
func (p *part) countsIn(r *reading, slot int, summed bool) bool {
	switch {
	case p.plan.Thread != "":
		return p.sure(r, slot) // also of one that has ended since the last pass
	case r.owner[slot] != 0:
		return true
	}
	return summed
}

// notesOwner notes whether a block that a gauge is in has passed to another thread, which finds in it what the one before has left.
func (p *part) notesOwner(r *reading, slot int, s gaugeSum) {
	if p.shared() {
		return
	}
	of := r.shares[slot].Of
	last, known := p.gauge.owners[slot]
	changed, onlySums := s.changes != p.gauge.sums[slot].changes, p.plan.Thread == "" && p.aggregate() == grid.Sum && !p.plan.Sets()
	p.gauge.handed = p.gauge.handed || changed && !onlySums && (of == nil || known && of != last)
	if of != nil {
		p.gauge.owners[slot] = of
	}
}

// aggregate is how the values of threads become one.
func (p *part) aggregate() grid.Aggregate {
	m, _ := p.t.Library.Metric(p.plan.Pair.Metric)
	return m.Aggregate
}

// forgetGauge clears the gauge of a thread that has ended, before its block gets another owner. In a sum, and in what is one value of the
// process, it stays.
func (p *part) forgetGauge(slot int) {
	if p.shared() || p.aggregate() == grid.Sum {
		return
	}
	for off := int32(0); off < trampoline.GaugeSize; off += trampoline.WordSize {
		p.t.Seg.Store(slot, p.Cells[0].Off+off, 0)
	}
	delete(p.gauge.sums, slot)
	delete(p.gauge.touched, slot)
}

// settle takes the fresh reading for the last one.
func (g *gaugeState) settle() {
	for id, s := range g.fresh {
		g.sums[id] = s
	}
	g.fresh = nil
}

// sampleGauge reads a gauge in all targets of a pair and hands what it was since the last reading to the sink. It returns how many CPUs
// its probes took.
func (d *Daemon) sampleGauge(p *pair, readings map[*measured]*reading, interval float64) (cpus float64) {
	parts := p.gauges()
	for _, pt := range parts {
		pt.readGauge(readings[pt.t])
	}
	now, begin := tsc(), p.axis.tsc
	from, known := knownSince(parts, begin, now)
	var values []grid.Held
	for _, pt := range parts {
		if known {
			values = append(values, pt.over(from, begin, now)...)
		}
		pt.gauge.settle()
		pt.price(readings[pt.t], interval)
		cpus += pt.use.CPUs
	}
	end := p.axis.advance(now, d)
	if m, ok := d.session.Library.Metric(p.key.Metric); ok && len(values) > 0 && p.sink != nil {
		d.holdOn(p, end-d.session.Clock.Seconds(float64(now-from)), end, m.Aggregate.CombineHeld(values))
	}
	return cpus
}

// knownSince is the earliest time from which a value of any of the parts can be told.
func knownSince(parts []*part, begin, now uint64) (from uint64, known bool) {
	from = now
	for _, pt := range parts {
		if f, ok := pt.knownSince(begin, now); ok {
			from, known = min(from, f), true
		}
	}
	return from, known
}

// holdOn hands a value to the sink of a pair.
func (d *Daemon) holdOn(p *pair, start, end float64, v grid.Held) {
	if s, ok := p.sink.(grid.HeldSink); ok {
		s.Hold(p.key, start, end, v)
		return
	}
	p.sink.Sample(p.key, start, end, v.Mean)
}

// startGauge takes the first reading of a gauge: extremes and integral count from here on.
func (d *Daemon) startGauge(p *pair, readings map[*measured]*reading) {
	for _, pt := range p.gauges() {
		pt.readGauge(readings[pt.t])
		pt.gauge.settle()
	}
	p.axis = gaugeAxis{tsc: tsc(), at: d.Now()}
}
