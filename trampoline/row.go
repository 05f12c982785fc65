package trampoline

import (
	"math"

	"culprit/trampoline/x86"
)

// A row is memory in which somebody else, the kernel, keeps sums for one thread: each is a word that only grows, and trampolines
// only read it. Timers of rows add up by how much such a word grew while they ran. A timer of running time reads two clocks:
// the time-stamp counter, and the word of the row that says how long the thread was off the processor. They have no common unit
// here; each has its own sum, and whoever reads them converts.

// Words of every row but its sums: since when its thread is off the processor, and since when it could run again, both of one clock in
// ns; 0 while it runs. A thread that finds the first set in its own row came back and nobody has told the row so. RowFiltered is its
// lowest bit, set if the thread must not make system calls that are not its own.
const (
	RowSince    = 16
	RowWoken    = 24
	RowFiltered = 1
)

// BlockRow is the offset of the word of a thread block that says which row is the thread's: see RowWord. While it is 0 the timers of
// rows do not start in this thread.
const BlockRow = 16

// RowWord is what BlockRow holds for the row with that number. It is no address: whatever somebody else writes there, a trampoline
// reads a row of the table, which is at the place that the stub has (SlowRowsOff).
func RowWord(index int) uint64 { return uint64(index)*RowSize + 1 }

// RowIndex is the number of the row that a word at BlockRow stands for, as trampolines read it; ok is false if it stands for none.
func (g Geometry) RowIndex(word uint64) (index int, ok bool) {
	return int(word&uint64(g.rowMask())) / RowSize, word != 0
}

// rowMask leaves of a word at BlockRow what lies within the table.
func (g Geometry) rowMask() int32 { return int32(g.Slots-1) * RowSize }

// RowSize is the distance of the rows of two threads in the table of rows, whose length is Geometry.Slots. A thread's row is found
// as its block is, by the first word, which is the thread pointer: at Geometry.Slot or within 64 places behind it. But nobody
// claims rows in the target.
const RowSize = 256

// Words that a timer of running time has behind those of every timer, and its size.
const (
	TimerOff     = 24 // what the row said at the start, in ns
	TimerOffSum  = 32 // sum of the time off the processor
	timerOffNow  = 40 // what the row says while it is read at the end
	RunTimerSize = 48
)

// scaleBits is how many bits of Env.Scale are behind the point.
const scaleBits = 20

// ScaleOf is Env.Scale for a time-stamp counter of that rate.
func ScaleOf(hz float64) int32 { return int32(math.Round(1e9 / hz * (1 << scaleBits))) }

// Run reports whether the primitive times how long the thread ran, by its row.
func (o Op) Run() bool { return o >= RunEnter && o <= RunStop }

// row reports whether the primitive reads nothing but a word of the row.
func (o Op) row() bool { return o >= RowEnter && o <= RowStop }

// rowAddress leaves the address of the thread's row in r, or leaves for skip if it has none: that is only looked for at the start, as
// a timer that runs has one.
func (g *generator) rowAddress(m *Mini, r x86.Reg, skip x86.Label) {
	g.MovRM(r, x86.RCX, BlockRow)
	if m.Op.starts() {
		g.TestRR(r, r)
		g.jump(x86.CondE, skip)
	}
	g.rowOf(r)
}

// rowOf makes the address of the row of what a thread block has at BlockRow.
func (g *generator) rowOf(r x86.Reg) {
	g.AndRI(r, g.env.rowMask())
	g.AddAddr(r, g.env.SlowAddr+SlowRowsOff)
}

// starts reports whether the primitive starts a timer by rows.
func (o Op) starts() bool { return o == RunEnter || o == RunStart || o == RowEnter || o == RowStart }

// rowClock leaves the word of the row in rax.
func (g *generator) rowClock(m *Mini, skip x86.Label) {
	g.rowAddress(m, x86.RAX, skip)
	g.MovRM(x86.RAX, x86.RAX, m.Row)
}

// runClock leaves the time-stamp counter in rax and the time off the processor in rdx and in the word at cell. Both are of one moment: the
// row's word only grows, so if it says what it said when the word at cell was written, which was before, the thread has not lost the
// processor since, and not between the two readings. If it says something else that is noted and both are read again, once for each time
// that the thread lost the processor. Nor is a row believed that does not know that the thread is back: it lacks its last wait.
func (g *generator) runClock(m *Mini, cell int32, skip x86.Label) {
	again, read := g.NewLabel(), g.NewLabel()
	g.Bind(again)
	g.stamp()
	g.rowAddress(m, x86.RDX, skip)
	g.CmpMI(x86.RDX, RowSince, 0)
	g.JccNear(x86.CondNE, g.outOfLine(func() { g.lastWait(m, cell, again, read) }))
	g.MovRM(x86.RDX, x86.RDX, m.Row)
	g.CmpMR(x86.RCX, cell, x86.RDX)
	g.JccNear(x86.CondNE, g.outOfLine(func() {
		g.MovMR(x86.RCX, cell, x86.RDX)
		g.JmpNear(again)
	}))
	g.Bind(read)
}

// lastWait puts the row in rdx right, which lacks the thread's last wait: whoever asks for its processor time has the kernel account
// for it, and so write into the row how long it waited. Where that must not be asked, or does not help, it makes up for the wait as
// far as the row knows it, from when the thread left to when it was woken. What it waited for the processor is missing then.
func (g *generator) lastWait(m *Mini, cell int32, again, read x86.Label) {
	told, known := g.NewLabel(), g.NewLabel()
	g.MovRM(x86.RAX, x86.RDX, RowSince)
	g.AndRI(x86.RAX, RowFiltered)
	g.Jcc(x86.CondNE, told)
	g.cpuClock()
	g.CmpMI(x86.RDX, RowSince, 0)
	g.JccNear(x86.CondE, again)
	g.Bind(told)
	g.stamp()
	g.push(x86.RAX)
	g.MovRM(x86.RDX, x86.RCX, BlockRow)
	g.rowOf(x86.RDX)
	g.MovRM(x86.RAX, x86.RDX, RowWoken)
	g.SubRM(x86.RAX, x86.RDX, RowSince)
	g.Jcc(x86.CondNS, known)
	g.XorRR(x86.RAX, x86.RAX)
	g.Bind(known)
	g.AddRM(x86.RAX, x86.RDX, m.Row)
	g.MovMR(x86.RCX, cell, x86.RAX)
	g.MovRR(x86.RDX, x86.RAX)
	g.pop(x86.RAX)
	g.JmpNear(read)
}

// ran makes the nanoseconds that the thread ran of the cycles in rax and the nanoseconds off the processor in rdx. Both are the
// difference of two readings; the factor is good to some millionths, which is enough to find a bucket.
func (g *generator) ran() {
	g.ImulRRI(x86.RAX, x86.RAX, g.env.Scale)
	g.ShrRI(x86.RAX, scaleBits)
	g.SubRR(x86.RAX, x86.RDX)
}

// findRow leaves in rdx what BlockRow holds for the thread's row, 0 if it has none: the stub's own word at rows says where the target
// has the table. rsi and rdi are gone.
func findRow(a *x86.Asm, env *Env, rows x86.Label) {
	probe, next, found, none, end := a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.Push(x86.RCX)
	a.LeaRIP(x86.RDI, rows)
	a.MovRM(x86.RDI, x86.RDI, 0)
	a.TestRR(x86.RDI, x86.RDI)
	a.Jcc(x86.CondE, none)
	a.MovFS(x86.RSI, 0)
	hash(a, env, x86.RDX, x86.RSI)
	a.ShlRI(x86.RDX, log2(RowSize))
	a.AddRR(x86.RDX, x86.RDI)
	a.MovImm32(x86.RCX, SlotProbes)
	a.Bind(probe)
	a.MovRM(x86.RSI, x86.RDX, 0)
	a.CmpFS(x86.RSI, 0)
	a.Jcc(x86.CondE, found)
	a.AddRI(x86.RDX, RowSize)
	a.Lea(x86.RSI, x86.RDI, int32(env.Slots)*RowSize)
	a.CmpRR(x86.RDX, x86.RSI)
	a.Jcc(x86.CondB, next)
	a.MovRR(x86.RDX, x86.RDI)
	a.Bind(next)
	a.SubRI(x86.RCX, 1)
	a.Jcc(x86.CondNE, probe)
	a.Bind(none)
	a.XorRR(x86.RDX, x86.RDX)
	a.Jmp(end)
	a.Bind(found)
	a.SubRR(x86.RDX, x86.RDI)
	a.AddRI(x86.RDX, 1)
	a.Bind(end)
	a.Pop(x86.RCX)
}
