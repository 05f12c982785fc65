package daemon

import (
	"culprit/daemon/probe"
	"culprit/daemon/threadstats"
	"culprit/trampoline"
)

// Reading timers that read rows.

// A ranTime is a reading of a timer of running time: cycles, and ns off the processor, with what is in flight and without.
type ranTime struct {
	cycles, off, rawCycles uint64
	running                bool
}

// apart is by how many cycles the two clocks of a reading may be apart. A reader that lost its processor between them reads again:
// what it would take for running time may be time that the thread was off the processor.
const apart = 100_000

// readRan reads such a timer without stopping its thread; ok is false if it changed each time.
func (p *part) readRan(slot int, c probe.Cell, tid int) (v ranTime, ok bool) {
	seg := p.t.Seg
	word := func(off int32) uint64 { return seg.Load(slot, c.Off+off) }
	for range 8 {
		active, start, off, sum := word(trampoline.TimerActive), word(trampoline.TimerStart), word(trampoline.TimerOff), word(trampoline.TimerSum)
		v = ranTime{cycles: sum, off: word(trampoline.TimerOffSum), rawCycles: sum, running: active != 0}
		before := tsc()
		now, owned := p.t.Stats.Now(slot, threadstats.OffCPU)
		after := tsc()
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
func (p *part) ran(r *reading, slot int, c probe.Cell) float64 {
	tid, last := r.owner[slot], p.seen[slot]
	v, ok := p.readRan(slot, c, tid)
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
	d := p.t.Clock.Seconds(float64(v.cycles-last.value)) - float64(int64(v.off-last.off))/1e9
	p.seen[slot] = slotValue{value: v.cycles, off: v.off, raw: v.rawCycles}
	if !p.covered(r, slot) {
		return 0
	}
	return d
}

// ranSum is the sum of a timer of running time in ns, as far as it was stopped.
func (p *part) ranSum(slot int, c probe.Cell) uint64 {
	cycles := p.t.Seg.Load(slot, c.Off+trampoline.TimerSum)
	return uint64(p.t.Clock.Seconds(float64(cycles))*1e9) - p.t.Seg.Load(slot, c.Off+trampoline.TimerOffSum)
}
