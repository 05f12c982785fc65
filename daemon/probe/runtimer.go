package probe

import (
	"culprit/daemon/kernel"
	"culprit/daemon/threadstats"
	"culprit/trampoline"
)

// A ranTime is a reading of a timer of running time: cycles, and ns off the CPU, with what is in flight and without.
type ranTime struct {
	cycles, off, rawCycles uint64
	running                bool
}

// apart is by how many cycles the two clocks of a reading may be apart. A reader that lost its CPU between them reads again: what it would
// take for running time may be time that the thread was off the CPU.
const apart = 100_000

// readRan reads such a timer without stopping its thread; ok is false if it changed each time.
func (b *Blocks) readRan(slot int, c Cell) (v ranTime, ok bool) {
	seg, tid := b.t.Seg, b.owner[slot]
	word := func(off int32) uint64 { return seg.Load(slot, c.Off+off) }
	for range 8 {
		active, start, off, sum := word(trampoline.TimerActive), word(trampoline.TimerStart), word(trampoline.TimerOff), word(trampoline.TimerSum)
		v = ranTime{cycles: sum, off: word(trampoline.TimerOffSum), rawCycles: sum, running: active != 0}
		before := kernel.TSC()
		now, owned := b.t.Stats.Now(slot, threadstats.OffCPU)
		after := kernel.TSC()
		if word(trampoline.TimerActive) != active || word(trampoline.TimerStart) != start || word(trampoline.TimerSum) != sum || after-before > apart {
			continue
		}
		if active != 0 && tid != 0 && owned {
			v.cycles += after - start
			v.off += now - off
		}
		return v, true
	}
	return v, false
}

// ran is the growth of a timer of running time in one thread block, in seconds.
func (m *Meter) ran(slot int, c Cell) float64 {
	tid, last := m.b.owner[slot], m.seen[slot]
	v, ok := m.b.readRan(slot, c)
	switch {
	case !ok:
		return 0 // the next pass sees it
	case v.cycles >= last.value:
	case tid != 0 && v.rawCycles == last.raw && !v.running:
		return 0 // stopped, but the sum has not grown yet: likewise
	default: // what was in flight is gone: its activation was left by an exception, or its thread ended
		last.value, last.off = v.cycles, v.off
	}
	// It may be less than nothing: what a hypervisor takes from a thread shows at the thread's next switch, and is taken back here.
	d := m.t.Clock.Seconds(float64(v.cycles-last.value)) - float64(int64(v.off-last.off))/1e9
	m.seen[slot] = slotValue{value: v.cycles, off: v.off, raw: v.rawCycles}
	if !m.covered(slot) {
		return 0
	}
	return d
}

// ranSum is the sum of a timer of running time in ns, as far as it was stopped.
func (b *Blocks) ranSum(slot int, c Cell) uint64 {
	cycles := b.t.Seg.Load(slot, c.Off+trampoline.TimerSum)
	return uint64(b.t.Clock.Seconds(float64(cycles))*1e9) - b.t.Seg.Load(slot, c.Off+trampoline.TimerOffSum)
}
