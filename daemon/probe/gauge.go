package probe

import (
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// Gauges: values that hold until they are changed. Probes keep what trampoline/gauge.go says; each pass takes the difference of two
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

// A gauge is the last reading of a meter of a gauge.
type gauge struct {
	plan    *pcl.Plan
	how     grid.Aggregate       // how the values of threads become one
	sums    map[int]gaugeSum     // by thread block, or under allSlots
	touched map[int]bool         // blocks whose threads have changed or set it
	fresh   map[int]gaugeSum     // the reading that is under way, of what counts
	unclear bool                 // a mean was not known, and it was said
	owners  map[int]*threads.Row // by thread block: whose value it is
	handed  bool                 // a thread began with what another one has left in its block
}

// newGauge is that of a meter, if it is of a gauge.
func newGauge(m *Meter) gauge {
	if !m.Plan.Kind.Holds() {
		return gauge{}
	}
	metric, _ := m.t.Library.Metric(m.Plan.Pair.Metric)
	return gauge{plan: m.Plan, how: metric.Aggregate, sums: map[int]gaugeSum{}, touched: map[int]bool{}, owners: map[int]*threads.Row{}}
}

// Holds reports whether the meter is of a gauge.
func (m *Meter) Holds() bool { return m.Plan.Kind.Holds() }

// shared reports whether it is one value of the whole process.
func (g *gauge) shared() bool { return g.plan.Kind == pcl.Gauge }

// read reads the cells, and takes the extremes out of them. A target that has ended is read once more: afterwards there is no value.
func (g *gauge) read(m *Meter) {
	g.fresh = map[int]gaugeSum{}
	if m.t.Seg == nil || len(m.Cells) == 0 || m.b.state.Settled {
		return
	}
	var all gaugeSum
	for _, slot := range m.b.slots {
		s, touched := takeGauge(m, slot)
		if touched {
			g.noteOwner(m.b.shares[slot].Of, slot, s)
			g.touched[slot] = true
		}
		switch {
		case g.shared():
			all.join(s)
		case !g.touched[slot]:
		case g.countsIn(m, slot):
			g.fresh[slot] = s
		default:
			g.sums[slot] = s
		}
	}
	if g.shared() {
		all.value = int64(m.t.Seg.Load(m.t.Seg.OverflowBlock(), m.Cells[0].Off+trampoline.GaugeShared))
		g.fresh[allSlots] = all
	}
}

// takeGauge reads the cell of one block. The pair of words is read at once, as it is changed. A cell that no thread has touched is not
// written to, so that it needs no memory.
func takeGauge(m *Meter, slot int) (s gaugeSum, touched bool) {
	seg, at := m.t.Seg, m.Cells[0].Off
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
func (g *gauge) countsIn(m *Meter, slot int) bool {
	switch {
	case g.plan.Thread != "":
		return m.sure(slot) // also of one that has ended since the last pass
	case m.b.owner[slot] != 0:
		return true
	}
	return g.how == grid.Sum
}

// noteOwner notes whether a block that a gauge is in has passed to another thread, which finds in it what the one before has left.
func (g *gauge) noteOwner(of *threads.Row, slot int, s gaugeSum) {
	if g.shared() {
		return
	}
	last, known := g.owners[slot]
	changed, onlySums := s.changes != g.sums[slot].changes, g.plan.Thread == "" && g.how == grid.Sum && !g.plan.Sets()
	g.handed = g.handed || changed && !onlySums && (of == nil || known && of != last)
	if of != nil {
		g.owners[slot] = of
	}
}

// forget clears the gauge of a thread that has ended, before its block gets another owner. In a sum, and in what is one value of the process, it
// stays.
func (g *gauge) forget(m *Meter, slot int) {
	if g.shared() || g.how == grid.Sum {
		return
	}
	m.b.clear(slot, Cell{Off: m.Cells[0].Off, Size: trampoline.GaugeSize})
	delete(g.sums, slot)
	delete(g.touched, slot)
}

// settle takes the fresh reading for the last one.
func (g *gauge) settle() {
	for id, s := range g.fresh {
		g.sums[id] = s
	}
	g.fresh = nil
}
