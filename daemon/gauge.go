package daemon

import (
	"sync/atomic"
	"unsafe"

	"culprit/daemon/kernel"
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
	sums    map[int]gaugeSum // by thread block, or under allSlots
	touched map[int]bool     // blocks whose threads have changed or set it
	fresh   map[int]gaugeSum // the reading that is under way
}

// holds reports whether the part is a gauge.
func (p *part) holds() bool { return p.plan.Kind.Holds() && p.estimate == nil }

// holds reports whether the pair is a gauge in some target.
func (p *pair) holds() bool {
	for _, pt := range p.parts {
		if pt.holds() {
			return true
		}
	}
	return false
}

// shared reports whether the part is one value of the whole process.
func (p *part) shared() bool { return p.plan.Kind == pcl.Gauge }

// readGauge reads the cells, and takes the extremes out of them. A target that has ended is read once more: afterwards there is no value.
func (p *part) readGauge(r *reading) {
	p.gauge.fresh = map[int]gaugeSum{}
	if p.t.seg == nil || len(p.cells) == 0 || p.t.settled {
		return
	}
	var all gaugeSum
	for _, slot := range r.slots {
		s, touched := p.takeGauge(slot)
		if touched {
			p.gauge.touched[slot] = true
		}
		if p.shared() {
			all.join(s)
		} else if p.gauge.touched[slot] && p.countsIn(r, slot) {
			p.gauge.fresh[slot] = s
		}
	}
	if p.shared() {
		all.value = int64(p.t.seg.load(p.t.seg.OverflowBlock(), p.cells[0].off+trampoline.GaugeShared))
		p.gauge.fresh[allSlots] = all
	}
}

// takeGauge reads the cell of one block. The pair of words is read at once, as it is changed.
func (p *part) takeGauge(slot int) (s gaugeSum, touched bool) {
	seg, at := p.t.seg, p.cells[0].off
	s.changes, s.area = seg.loadPair(slot, at+trampoline.GaugeValue)
	s.value = int64(s.changes)
	s.most, s.least = seg.take(slot, at+trampoline.GaugeMost), seg.take(slot, at+trampoline.GaugeLeast)
	s.since = seg.load(slot, at+trampoline.GaugeSince)
	return s, s.changes|s.area|s.most|s.least|s.since != 0
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
func (p *part) countsIn(r *reading, slot int) bool {
	if tid := r.owner[slot]; tid != 0 || p.aggregate() != grid.Sum {
		return tid != 0 && p.covers(tid)
	}
	return p.plan.Thread == ""
}

// aggregate is how the values of threads become one.
func (p *part) aggregate() grid.Aggregate {
	m, _ := p.t.d.opts.Library.Metric(p.plan.Pair.Metric)
	return m.Aggregate
}

// forgetGauge clears the gauge of a thread that has ended, before its block gets another owner. In a sum, and in what is one value of the
// process, it stays.
func (p *part) forgetGauge(slot int) {
	if p.shared() || p.aggregate() == grid.Sum {
		return
	}
	for off := int32(0); off < trampoline.GaugeSize; off += trampoline.WordSize {
		p.t.seg.store(slot, p.cells[0].off+off, 0)
	}
	delete(p.gauge.sums, slot)
	delete(p.gauge.touched, slot)
}

// knownSince is the earliest time from which a value of the fresh reading is known, and from which the interval since the last reading,
// at begin, can be told; ok is false if there is none yet. Where changes are seen before the first value that is set, the interval in
// which that comes says nothing.
func (p *part) knownSince(begin, now uint64) (from uint64, ok bool) {
	if !p.plan.Sets() {
		return begin, p.shared() || p.aggregate() == grid.Sum || len(p.gauge.fresh) > 0
	}
	from = now
	for id, s := range p.gauge.fresh {
		if f, known := p.knownFrom(id, s, begin, now); known && f < now {
			from, ok = min(from, f), true
		}
	}
	return from, ok
}

// knownFrom is from when on one value is known.
func (p *part) knownFrom(id int, s gaugeSum, begin, now uint64) (from uint64, ok bool) {
	last := p.gauge.sums[id]
	switch {
	case !p.plan.Sets(), last.since != 0:
		return begin, true
	case s.since == 0, p.plan.Adds():
		return now, s.since != 0
	case begin-s.since < mostLag:
		return s.since, true // while the cells were being read
	}
	return min(max(s.since, begin), now), true // the word is the target's
}

// mostLag is how long before begin a value may have been set that the last reading did not see, in cycles: a second or two.
const mostLag = 1 << 32

// over is what the values of the part were from a time on up to now, and takes the fresh reading for the last one.
func (p *part) over(from, begin, now uint64) (values []grid.Held) {
	for id, s := range p.gauge.fresh {
		since, ok := p.knownFrom(id, s, begin, now)
		if ok && since < now {
			last := p.gauge.sums[id]
			if p.plan.Sets() && last.since == 0 {
				last = gaugeSum{changes: s.changes, area: s.changes * since, value: s.value} // there is nothing before, and no integral
			}
			v, clear := s.held(&last, since, now)
			if !clear {
				p.t.d.logf("%s: %v: the value changes so much in the %.1f s between two readings that its mean is not known", p.t.name, p.plan.Pair, p.t.d.clock.Seconds(float64(now-begin)))
				continue
			}
			if p.aggregate() == grid.Sum && since > from {
				v.Mean *= float64(now-since) / float64(now-from) // it was nothing before
			}
			values = append(values, v)
		}
	}
	if len(p.gauge.fresh) == 0 && !p.plan.Sets() && p.aggregate() == grid.Sum && !p.t.settled {
		values = append(values, grid.Held{}) // nothing has changed it
	}
	return values
}

// held is what a value was over [since, now]; last is the reading at since. The mean is the value at the beginning, and how far the
// integral is from that of a value that had not changed: modulo 2^64 that is right where the difference is below 2^63. Clear is false
// where it may not be, since the extremes are too far from each other.
func (s *gaugeSum) held(last *gaugeSum, since, now uint64) (v grid.Held, clear bool) {
	low, high := min(last.value, s.value), max(last.value, s.value)
	if s.most != 0 {
		high = max(high, trampoline.GaugeOf(s.most))
	}
	if s.least != 0 {
		low = min(low, trampoline.GaugeOf(^s.least))
	}
	length := now - since
	moved := int64(s.integral(now) - last.integral(since) - last.changes*length)
	v = grid.Held{Mean: float64(int64(last.changes)) + float64(moved)/float64(length), Min: float64(low), Max: float64(high), Last: float64(s.value)}
	return v, (v.Max-v.Min)*float64(length) < 1<<63
}

// settle takes the fresh reading for the last one.
func (g *gaugeState) settle() {
	for id, s := range g.fresh {
		g.sums[id] = s
	}
	g.fresh = nil
}

// sampleGauge reads a gauge in all targets of a pair and hands what it was since the last reading to the sink.
func (d *Daemon) sampleGauge(p *pair, readings map[*target]*reading, interval float64) (cost float64) {
	for _, pt := range p.parts {
		if pt.holds() {
			pt.readGauge(readings[pt.t])
		}
	}
	now, begin := tsc(), p.axis.tsc
	from, known := now, false
	for _, pt := range p.parts {
		if f, ok := pt.knownSince(begin, now); pt.holds() && ok {
			from, known = min(from, f), true
		}
	}
	var values []grid.Held
	for _, pt := range p.parts {
		if pt.holds() {
			if known {
				values = append(values, pt.over(from, begin, now)...)
			}
			pt.gauge.settle()
			pt.price(readings[pt.t], interval)
			cost += pt.spent
		}
	}
	end := p.axis.advance(now, d)
	if m, ok := d.opts.Library.Metric(p.key.Metric); ok && len(values) > 0 && p.sink != nil {
		d.holdOn(p, end-d.clock.Seconds(float64(now-from)), end, m.Aggregate.CombineHeld(values))
	}
	return cost
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
func (d *Daemon) startGauge(p *pair, readings map[*target]*reading) {
	for _, pt := range p.parts {
		if pt.holds() {
			pt.readGauge(readings[pt.t])
			pt.gauge.settle()
		}
	}
	p.axis = gaugeAxis{tsc: tsc(), at: d.Now()}
}

// A gaugeAxis is the last moment at which a gauge was read, on both clocks. The means of intervals are exact for the time-stamp counter,
// so that is what their lengths go by.
type gaugeAxis struct {
	tsc uint64
	at  float64 // session time
}

// mostDrift is by how many seconds the axis may be away from the session's clock: the counter stands still while a virtual machine does.
const mostDrift = 0.1

// advance moves the axis to now and returns the session time of it.
func (x *gaugeAxis) advance(now uint64, d *Daemon) float64 {
	x.at += d.clock.Seconds(float64(now - x.tsc))
	x.tsc = now
	if at := d.Now(); at-x.at > mostDrift || x.at-at > mostDrift {
		x.at = at
	}
	return x.at
}

// loadPair reads two words of a block that are changed together.
func (s *segment) loadPair(slot int, off int32) (first, second uint64) {
	return kernel.LoadPair((*[2]uint64)(unsafe.Pointer(s.word(slot, off))))
}

// take reads a word of a block and leaves 0 there.
func (s *segment) take(slot int, off int32) uint64 { return atomic.SwapUint64(s.word(slot, off), 0) }
