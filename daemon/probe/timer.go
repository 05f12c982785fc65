package probe

import (
	"culprit/daemon/threads"
	"culprit/pcl"
	"culprit/trampoline"
)

// A slotValue is the last value in one thread block.
type slotValue struct {
	value  uint64
	raw    uint64  // sum without what is in flight
	parked bool    // its thread was parked, and what is in flight left out
	hidden float64 // how much that was, in seconds
	off    uint64  // of a timer of running time: ns off the CPU
}

// growth is the growth in one thread block since the session time of the last reading.
func (m *Meter) growth(slot int, c Cell, since float64) float64 {
	tid := m.b.owner[slot]
	last := m.seen[slot]
	if c.Kind == pcl.Counter {
		v := m.t.Seg.Load(slot, c.Off)
		m.seen[slot] = slotValue{value: v, raw: v}
		if !m.covered(slot) {
			return 0
		}
		return float64(int64(v - last.value))
	}
	if c.Rows && c.Kind == pcl.ProcessTimer {
		return m.ran(slot, c)
	}
	v, raw := m.b.timer(slot, c)
	parked, hidden := m.Plan.ExcludeParked && m.b.parked[tid], 0.0
	if parked {
		hidden = m.b.seconds(c, v-raw)
		v = max(last.value, raw) // what is in flight while parked is not waiting
	}
	if v < last.value {
		if tid != 0 && raw == last.raw && !m.b.running(slot, c) {
			return 0 // stopped, but the sum has not grown yet: the next pass sees it
		}
		last.value = v // what was in flight is gone: its activation was left by an exception, or its thread ended
	}
	m.seen[slot] = slotValue{value: v, raw: raw, parked: parked, hidden: hidden}
	if !m.covered(slot) {
		return 0
	}
	d := m.b.seconds(c, v-last.value)
	if parked || last.parked {
		d = min(d, m.t.Now()-since+short(last.hidden)) // a wait that ends was parked for the most part; a pass begins long before it reads
	}
	return d
}

// short is how long a wait had lasted when it was last taken for a parked one, if that was not long: it was waiting all the same.
func short(hidden float64) float64 {
	if hidden > threads.ParkAfter {
		return 0
	}
	return hidden
}

func (b *Blocks) running(slot int, c Cell) bool {
	return b.t.Seg.Load(slot, c.Off+trampoline.TimerActive) != 0
}

// timer reads a timer cell without stopping its thread: the words are read until two readings agree, with the clock between them.
func (b *Blocks) timer(slot int, c Cell) (value, raw uint64) {
	seg, tid := b.t.Seg, b.owner[slot]
	word := func(off int32) uint64 { return seg.Load(slot, c.Off+off) }
	for range 8 {
		active, start, sum := word(trampoline.TimerActive), word(trampoline.TimerStart), word(trampoline.TimerSum)
		now := start
		if active != 0 && tid != 0 {
			now = b.clockOf(slot, c, tid)
		}
		value, raw = sum, sum
		if now > start {
			value += now - start
		}
		if word(trampoline.TimerActive) == active && word(trampoline.TimerStart) == start && word(trampoline.TimerSum) == sum {
			break
		}
	}
	return value, raw
}

// clockOf is the time on the clock of a timer that runs; 0 where it cannot be read.
func (b *Blocks) clockOf(slot int, c Cell, tid int) uint64 {
	switch c.Kind {
	case pcl.ProcessTimer:
		return b.cpuOf(tid)
	case pcl.Kernel:
		now, _ := b.t.Stats.Now(slot, c.Quantity)
		return now
	}
	return b.tsc
}

// seconds is what a timer has added, in the metric's unit.
func (b *Blocks) seconds(c Cell, d uint64) float64 {
	switch {
	case c.Kind == pcl.ProcessTimer:
		return float64(d) / 1e9
	case c.Kind == pcl.Kernel && c.Quantity.Nanoseconds():
		return float64(d) / 1e9
	case c.Kind == pcl.Kernel:
		return float64(d)
	}
	return b.t.Clock.Seconds(float64(d))
}

// inUnits is what was added to the first cell in the metric's unit.
func (m *Meter) inUnits(d uint64) float64 {
	if c := m.Cells[0]; c.Kind != pcl.Counter {
		return m.b.seconds(c, d)
	}
	return float64(d)
}
