package trampoline

import "culprit/trampoline/x86"

// A gauge is a number that holds until it is changed. Of each change by d at time t a thread adds d to one word of its block and d*t to
// the next one, both by one lock cmpxchg16b, so that a reader, and a signal handler that changes the same gauge, see either all of a
// change or nothing. Let V and S be the sums of these words over all blocks. Then V*t - S is the integral of the value from the first
// change up to t: every change contributes d*(t - its time). All of it is computed modulo 2^64, so that nothing is lost when S passes
// 2^64; who reads takes the difference of two integrals, which is right as long as it is below 2^63 itself.
//
// Of a gauge that is one of the whole process the value stands in one more word, which all threads change by lock xadd, or xchg where it
// is set. It tells each thread what the value is after its own change. Largest and smallest of these are kept in the thread's block; the
// extremes of all blocks together are those of the value, since each value that it had was made by some thread.

// Layout of the cell of a gauge in a thread block, as offsets from its start. Its start is a multiple of 16. All words are 0 at first.
const (
	GaugeValue  = 0  // the sum of the changes that the thread made
	GaugeArea   = 8  // the sum of the changes times when they were, in cycles of the time-stamp counter
	GaugeMost   = 16 // GaugeKey of the largest value that a change of the thread led to since somebody put 0 here; 0 = none
	GaugeLeast  = 24 // the complement of GaugeKey of the smallest one; 0 = none
	GaugeSince  = 32 // when the thread set it for the first time; 0 = never
	GaugeShared = 40 // in the overflow block: the value of a gauge of the whole process
	GaugeSize   = 64 // one cache line
)

// GaugeKey maps the values of gauges to numbers that order them without sign; 0 is the lowest one.
func GaugeKey(value int64) uint64 { return uint64(value) ^ 1<<63 }

// GaugeOf undoes GaugeKey.
func GaugeOf(key uint64) int64 { return int64(key ^ 1<<63) }

// OverflowBlock is the number of the block of the threads that find none of their own. Gauges of the process keep their value there.
func (g Geometry) OverflowBlock() int { return g.Slots }

// sharedGauge is the address of the value of a gauge of the whole process.
func (e *Env) sharedGauge(cell int32) uint64 {
	return e.DataAddr + uint64(e.OverflowBlock()*e.BlockSize) + uint64(cell+GaugeShared)
}

// gauge reports whether the primitive changes a gauge.
func (o Op) gauge() bool { return o == GaugeAdd || o == GaugeSet }

var gaugeRegs = [...]x86.Reg{x86.RBX, x86.RSI, x86.RDI, x86.R8, x86.R9}

// gauge changes a gauge. Meanwhile rdi is the block, rsi the change (or what is set, where the change depends on what was there), r8 the
// value of a shared gauge afterwards, and r9 the time, or the change times the time.
func (g *generator) gauge(m *Mini) error {
	if m.Cell%16 != 0 || g.env.DataAddr%16 != 0 || g.env.BlockSize%16 != 0 {
		panic("BUG: the cell of a gauge is not aligned")
	}
	if err := g.eval(m.Expr); err != nil {
		return err
	}
	for _, r := range gaugeRegs {
		g.push(r)
	}
	g.MovRR(x86.RDI, x86.RCX)
	g.MovRR(x86.RSI, x86.RAX)
	if m.Shared {
		g.shareGauge(m)
	}
	g.stamp()
	if m.Op == GaugeSet {
		known := g.NewLabel()
		g.CmpMI(x86.RDI, m.Cell+GaugeSince, 0)
		g.Jcc(x86.CondNE, known)
		g.MovMR(x86.RDI, m.Cell+GaugeSince, x86.RAX)
		g.Bind(known)
	}
	g.MovRR(x86.R9, x86.RAX)
	g.changeGauge(m)
	g.keepExtremes(m)
	g.MovRR(x86.RCX, x86.RDI)
	for i := len(gaugeRegs) - 1; i >= 0; i-- {
		g.pop(gaugeRegs[i])
	}
	return nil
}

// shareGauge changes the word of the process. It leaves the change in rsi and the value in r8.
func (g *generator) shareGauge(m *Mini) {
	g.MovImm64(x86.RBX, g.env.sharedGauge(m.Cell))
	g.MovRR(x86.R8, x86.RSI)
	if m.Op == GaugeAdd {
		g.LockXaddMR(x86.RBX, 0, x86.R8)
		g.AddRR(x86.R8, x86.RSI)
		return
	}
	g.XchgMR(x86.RBX, 0, x86.RSI)
	g.NegR(x86.RSI)
	g.AddRR(x86.RSI, x86.R8)
}

// changeGauge adds the change, and the change times the time, to the thread's own words, and leaves the sum of its changes in rbx. A
// signal handler may have changed the gauge between the reading and the writing, or another thread that shares the block: then it is
// done again.
func (g *generator) changeGauge(m *Mini) {
	sets := m.Op == GaugeSet && !m.Shared
	if !sets {
		g.ImulRR(x86.R9, x86.RSI)
	}
	g.MovRM(x86.RAX, x86.RDI, m.Cell+GaugeValue)
	g.MovRM(x86.RDX, x86.RDI, m.Cell+GaugeArea)
	again := g.NewLabel()
	g.Bind(again)
	g.MovRR(x86.RBX, x86.RSI)
	if sets {
		g.MovRR(x86.RCX, x86.RSI)
		g.SubRR(x86.RCX, x86.RAX)
		g.ImulRR(x86.RCX, x86.R9)
	} else {
		g.AddRR(x86.RBX, x86.RAX)
		g.MovRR(x86.RCX, x86.R9)
	}
	g.AddRR(x86.RCX, x86.RDX)
	g.LockCmpxchg16bM(x86.RDI, m.Cell)
	g.Jcc(x86.CondNE, again)
}

// keepExtremes has the value count among the largest and smallest ones.
func (g *generator) keepExtremes(m *Mini) {
	if m.Shared {
		g.MovRR(x86.RBX, x86.R8)
	}
	g.BtcRI(x86.RBX, 63)
	g.raise(m.Cell + GaugeMost)
	g.NotR(x86.RBX)
	g.raise(m.Cell + GaugeLeast)
}

// raise sets a word of the block to rbx if it is lower, without sign. The reader may put 0 there meanwhile.
func (g *generator) raise(cell int32) {
	again, done := g.NewLabel(), g.NewLabel()
	g.MovRM(x86.RAX, x86.RDI, cell)
	g.Bind(again)
	g.CmpRR(x86.RBX, x86.RAX)
	g.Jcc(x86.CondBE, done)
	g.LockCmpxchgMR(x86.RDI, cell, x86.RBX)
	g.Jcc(x86.CondNE, again)
	g.Bind(done)
}
