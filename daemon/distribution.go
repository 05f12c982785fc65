package daemon

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

// allSlots is the key of the tally of all blocks together.
const allSlots = -1

// distribute returns what came into the buckets since the last pass; nil for a pair that has none.
func (p *part) distribute(r *reading) *grid.Distribution {
	if p.Buckets == 0 || p.t.Seg == nil {
		return nil
	}
	growth := &grid.Distribution{Step: p.step()}
	if p.plan.Thread == "" {
		var now tally
		for _, slot := range r.slots {
			p.tally(slot, &now)
		}
		p.grown(allSlots, &now, growth)
		return growth
	}
	for _, slot := range r.slots {
		var now tally
		into := growth
		if !p.sure(r, slot) {
			into = new(grid.Distribution)
		}
		p.tally(slot, &now)
		p.grown(slot, &now, into)
	}
	return growth
}

// tally adds what one block holds.
func (p *part) tally(slot int, into *tally) {
	seg := p.t.Seg
	for i := range into.counts {
		into.counts[i] += seg.Load(slot, p.Buckets+int32(i)*trampoline.WordSize)
	}
	if c := p.Cells[0]; c.Rows && c.Kind == pcl.ProcessTimer {
		into.sum += p.ranSum(slot, c)
		return
	}
	at := p.Cells[0].Off
	if p.Cells[0].Kind != pcl.Counter {
		at += trampoline.TimerSum
	}
	into.sum += seg.Load(slot, at)
}

// grown adds to growth by how much a tally has grown, and keeps it.
func (p *part) grown(key int, now *tally, growth *grid.Distribution) {
	last := p.tallies[key]
	if last == nil {
		if *now == (tally{}) {
			return // nothing to remember: most threads never come where the pair measures
		}
		last = new(tally)
		p.tallies[key] = last
	}
	for i, n := range now.counts {
		if more := n - last.counts[i]; more < mostGrowth {
			growth.Counts[i] += more
		}
	}
	growth.Sum += float64(int64(now.sum-last.sum)) * growth.Step
	*last = *now
}

// step is what 1 in the cells of the pair is in the unit of its values.
func (p *part) step() float64 {
	switch p.Cells[0].Kind {
	case pcl.Counter:
		return 1
	case pcl.ProcessTimer:
		return 1e-9
	}
	return p.t.Clock.Seconds(1)
}

// distribute hands what came into the buckets of a pair since p.last, in all its processes, to its sink.
func (d *Daemon) distribute(p *pair, readings map[*measured]*reading, now float64) {
	sink, ok := p.sink.(grid.DistributionSink)
	if !ok {
		return
	}
	var all grid.Distribution
	for _, pt := range p.parts {
		if growth := pt.distribute(readings[pt.t]); growth != nil {
			all.Add(growth)
		}
	}
	if all.Count() > 0 {
		sink.Distribute(p.key, p.last, now, &all)
	}
}
