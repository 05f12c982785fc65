package probe

import (
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// The buckets of pairs whose base is a histogram: words in every thread block that only grow, read with each pass like the sums.
// What a reader sees of a single block may be an activation short for a moment; the next pass has it.

// A tally is what a pass read of the buckets: of one thread block, or of all together.
type tally struct {
	counts [grid.DistributionBuckets]uint64
	sum    uint64 // of the values, as the cells have it
}

// mostGrowth is more than any bucket grows by between two passes, in half a day even. The words belong to the target: one that has
// shrunk, or jumped, has been overwritten and says nothing.
const mostGrowth = 1 << 44

// tallies are what the last pass read of the buckets, by thread block or under allSlots.
type tallies map[int]*tally

// allSlots is the key of the tally of all blocks together.
const allSlots = -1

// Distribute returns what came into the buckets since the last pass; nil for a pair that has none.
func (m *Meter) Distribute() *grid.Distribution {
	if m.Buckets == 0 || m.t.Seg == nil {
		return nil
	}
	growth := &grid.Distribution{Step: m.b.step(m.Cells[0])}
	if m.Plan.Thread == "" {
		var now tally
		for _, slot := range m.b.slots {
			now.add(m, slot)
		}
		m.tallies.add(allSlots, &now, growth)
		return growth
	}
	for _, slot := range m.b.slots {
		var now tally
		into := growth
		if !m.sure(slot) {
			into = new(grid.Distribution)
		}
		now.add(m, slot)
		m.tallies.add(slot, &now, into)
	}
	return growth
}

// add adds what one block holds.
func (y *tally) add(m *Meter, slot int) {
	seg := m.t.Seg
	for i := range y.counts {
		y.counts[i] += seg.Load(slot, m.Buckets+int32(i)*trampoline.WordSize)
	}
	if c := m.Cells[0]; c.Rows && c.Kind == pcl.ProcessTimer {
		y.sum += m.b.ranSum(slot, c)
		return
	}
	at := m.Cells[0].Off
	if m.Cells[0].Kind != pcl.Counter {
		at += trampoline.TimerSum
	}
	y.sum += seg.Load(slot, at)
}

// add adds to growth by how much a tally has grown, and keeps it.
func (l tallies) add(key int, now *tally, growth *grid.Distribution) {
	last := l[key]
	if last == nil {
		if *now == (tally{}) {
			return // nothing to remember: most threads never come where the pair measures
		}
		last = new(tally)
		l[key] = last
	}
	for i, n := range now.counts {
		if more := n - last.counts[i]; more < mostGrowth {
			growth.Counts[i] += more
		}
	}
	growth.Sum += float64(int64(now.sum-last.sum)) * growth.Step
	*last = *now
}

// step is what 1 in a cell is in the unit of the values.
func (b *Blocks) step(c Cell) float64 {
	switch c.Kind {
	case pcl.Counter:
		return 1
	case pcl.ProcessTimer:
		return 1e-9
	}
	return b.t.Clock.Seconds(1)
}
