package trampoline

import (
	"fmt"

	"culprit/trampoline/x86"
)

// Inside a section rcx holds the thread's block; rax and rdx are free. The saved registers lie on the stack in the order of
// generator.saved, and whatever an expression pushes comes on top.

// mini emits one primitive with its predicates.
func (g *generator) mini(m *Mini) error {
	skip := g.NewLabel()
	for _, gd := range m.Guards {
		g.guard(gd, skip)
	}
	if m.Cond != nil {
		if err := g.branchUnless(m.Cond, skip); err != nil {
			return err
		}
	}
	if err := g.primitive(m, skip); err != nil {
		return err
	}
	g.Bind(skip)
	return nil
}

// jump leaves for skip, which may be far.
func (g *generator) jump(c x86.Cond, skip x86.Label) {
	if g.far {
		g.JccNear(c, skip)
		return
	}
	g.Jcc(c, skip)
}

// guard leaves for skip unless the predicate holds.
func (g *generator) guard(gd Guard, skip x86.Label) {
	if gd.Activation {
		g.stackPointer(x86.RAX)
		g.CmpMR(x86.RCX, gd.Cell, x86.RAX)
		g.jump(x86.CondB, skip) // 0 or stale: below the stack pointer
		return
	}
	g.CmpMI(x86.RCX, gd.Cell, 0)
	g.jump(x86.CondE, skip)
}

// stackPointer loads what rsp was at the point.
func (g *generator) stackPointer(r x86.Reg) { g.Lea(r, x86.RSP, int32(g.pushed+g.called)) }

func (g *generator) primitive(m *Mini, skip x86.Label) error {
	switch m.Op {
	case Add, Set:
		return g.assign(m)
	case Do:
		return g.eval(m.Expr)
	case GaugeAdd, GaugeSet:
		return g.gauge(m)
	case FlagEnter:
		g.stackPointer(x86.RAX)
		g.CmpMR(x86.RCX, m.Cell, x86.RAX)
		g.jump(x86.CondA, skip) // an outer activation holds it
		g.MovMR(x86.RCX, m.Cell, x86.RAX)
	case FlagLeave:
		g.unlessEnded(m, skip)
		g.MovMI(x86.RCX, m.Cell, 0)
	case WallEnter, CPUEnter, RunEnter, RowEnter:
		g.timerEnter(m, skip)
	case WallLeave, CPULeave, RunLeave, RowLeave:
		g.unlessEnded(m, skip)
		g.timerStop(m, skip)
	case WallStart, CPUStart, RunStart, RowStart:
		g.CmpMI(x86.RCX, m.Cell+TimerActive, 0)
		g.jump(x86.CondNE, skip)
		g.timerStart(m, skip)
		g.MovMI(x86.RCX, m.Cell+TimerActive, 1)
	case WallStop, CPUStop, RunStop, RowStop:
		g.CmpMI(x86.RCX, m.Cell+TimerActive, 0)
		g.jump(x86.CondE, skip)
		g.timerStop(m, skip)
	default:
		panic(fmt.Sprintf("BUG: unknown primitive %d", m.Op))
	}
	return nil
}

// timerEnter starts a timer at the outermost activation. The start is written before the stack pointer, so that a reader who
// sees the timer running sees a start.
func (g *generator) timerEnter(m *Mini, skip x86.Label) {
	g.stackPointer(x86.RAX)
	g.CmpMR(x86.RCX, m.Cell+TimerActive, x86.RAX)
	g.jump(x86.CondA, skip)
	g.timerStart(m, skip)
	g.stackPointer(x86.RDX)
	g.MovMR(x86.RCX, m.Cell+TimerActive, x86.RDX)
}

// timerStart notes what the clock says.
func (g *generator) timerStart(m *Mini, skip x86.Label) {
	g.clock(m, m.Cell+TimerOff, skip)
	g.MovMR(x86.RCX, m.Cell+TimerStart, x86.RAX)
}

// timerStop adds the time since the start. The timer is marked stopped before the sum grows: a reader in between sees too
// little for a moment, never too much.
func (g *generator) timerStop(m *Mini, skip x86.Label) {
	g.clock(m, m.Cell+timerOffNow, skip)
	g.SubRM(x86.RAX, x86.RCX, m.Cell+TimerStart)
	if m.Op.Run() {
		g.SubRM(x86.RDX, x86.RCX, m.Cell+TimerOff)
	}
	g.MovMI(x86.RCX, m.Cell+TimerActive, 0)
	g.AddMR(x86.RCX, m.Cell+TimerSum, x86.RAX)
	if m.Op.Run() {
		g.AddMR(x86.RCX, m.Cell+TimerOffSum, x86.RDX)
		if m.distributes() || m.tabled() {
			g.ran()
		}
	}
	g.bucket(m)
	g.table(m)
}

// clock leaves the time in rax: TSC cycles, ns of the thread's CPU time, or a word of its row; for a timer of running time the
// time off the processor in rdx and in the word at off as well.
func (g *generator) clock(m *Mini, off int32, skip x86.Label) {
	switch {
	case m.Op.CPU():
		g.cpuClock()
	case m.Op.Run():
		g.runClock(m, off, skip)
	case m.Op.row():
		g.rowClock(m, skip)
	default:
		g.stamp()
	}
}

// stamp leaves the time-stamp counter in rax; rdx is gone.
func (g *generator) stamp() {
	g.Rdtsc()
	g.ShlRI(x86.RDX, 32)
	g.OrRR(x86.RAX, x86.RDX)
}

const (
	sysClockGettime      = 228
	clockThreadCPUTimeID = 3
	nsPerSecond          = 1_000_000_000
)

// cpuClock asks the kernel: clock_gettime(CLOCK_THREAD_CPUTIME_ID). The call clobbers rcx and r11.
func (g *generator) cpuClock() {
	for _, r := range []x86.Reg{x86.RDI, x86.RSI, x86.R11, x86.RCX} {
		g.push(r)
	}
	g.reserve(16)
	g.MovImm32(x86.RAX, sysClockGettime)
	g.MovImm32(x86.RDI, clockThreadCPUTimeID)
	g.MovRR(x86.RSI, x86.RSP)
	g.Syscall()
	g.MovRM(x86.RAX, x86.RSP, 0)
	g.ImulRRI(x86.RAX, x86.RAX, nsPerSecond)
	g.AddRM(x86.RAX, x86.RSP, 8)
	g.reserve(-16)
	for _, r := range []x86.Reg{x86.RCX, x86.R11, x86.RSI, x86.RDI} {
		g.pop(r)
	}
}

// assign emits += and =.
func (g *generator) assign(m *Mini) error {
	if e := m.Expr; e.Op == ExConst && e.Value == int64(int32(e.Value)) && !m.distributes() && !m.tabled() {
		if m.Op == Add {
			g.AddMI(x86.RCX, m.Cell, int32(e.Value))
		} else {
			g.MovMI(x86.RCX, m.Cell, int32(e.Value))
		}
		return nil
	}
	if err := g.eval(m.Expr); err != nil {
		return err
	}
	if m.Op == Add {
		g.AddMR(x86.RCX, m.Cell, x86.RAX)
		g.bucket(m)
		g.table(m)
	} else {
		g.MovMR(x86.RCX, m.Cell, x86.RAX)
	}
	return nil
}

// branchUnless leaves for skip unless the expression is non-zero.
func (g *generator) branchUnless(e *Expr, skip x86.Label) error {
	if e.Op == ExEq && e.L.Op == ExArg && e.R.Op == ExConst && e.R.Value >= 0 && e.R.Value <= 1<<31-1 {
		// An int argument has no defined upper half; an address this small has a zero one.
		if err := g.leaf(e.L); err != nil {
			return err
		}
		g.CmpRI32(x86.RAX, int32(e.R.Value))
		g.jump(x86.CondNE, skip)
		return nil
	}
	if err := g.eval(e); err != nil {
		return err
	}
	g.TestRR(x86.RAX, x86.RAX)
	g.jump(x86.CondE, skip)
	return nil
}

// eval leaves the value of an expression in rax and may use rdx and the stack.
func (g *generator) eval(e *Expr) error {
	if e.Depth() > MaxExprDepth {
		return fmt.Errorf("an expression is nested more than %d deep", MaxExprDepth)
	}
	switch {
	case e.Op <= ExWord:
		return g.leaf(e)
	case e.Op == ExAddr:
		g.Lea(x86.RAX, x86.RCX, int32(e.Value))
		return nil
	case e.Op == ExShared:
		g.MovImm64(x86.RAX, g.env.sharedGauge(int32(e.Value)))
		g.MovRM(x86.RAX, x86.RAX, 0)
		return nil
	case e.Op == ExCall:
		return g.callTarget(e)
	case e.ofMemory():
		return g.memory(e)
	case e.ofFiles():
		return g.openFile(e)
	case (e.Op == ExAnd || e.Op == ExOr) && e.AsksKernel() && !e.hasEffects():
		return g.cheaperFirst(e)
	case e.Op == ExNeg:
		err := g.eval(e.L)
		g.NegR(x86.RAX)
		return err
	}
	if err := g.eval(e.L); err != nil {
		return err
	}
	g.push(x86.RAX)
	err := g.eval(e.R)
	g.MovRR(x86.RDX, x86.RAX)
	g.pop(x86.RAX)
	g.operator(e.Op)
	return err
}

var argRegs = [6]x86.Reg{x86.RDI, x86.RSI, x86.RDX, x86.RCX, x86.R8, x86.R9}

func (g *generator) leaf(e *Expr) error {
	switch e.Op {
	case ExConst:
		g.MovImm64(x86.RAX, uint64(e.Value))
	case ExWord:
		g.MovRM(x86.RAX, x86.RCX, int32(e.Value))
	case ExReturn:
		g.original(x86.RAX)
	case ExCallee:
		return g.target()
	case ExArg:
		if e.Value < 0 || e.Value >= int64(len(argRegs)) {
			return fmt.Errorf("argument %d is not in a register: 0 to 5 are", e.Value)
		}
		g.original(argRegs[e.Value])
	}
	return nil
}

// target loads into rax where the call at the point goes.
func (g *generator) target() error {
	switch {
	case g.callee != 0:
		g.MovRM(x86.RAX, x86.RSP, int32(g.pushed-g.callee))
	case g.mark0.Call != nil && g.mark0.Call.Inst.Target != 0:
		g.MovImm64(x86.RAX, g.mark0.Call.Inst.Target)
	default:
		return fmt.Errorf("there is no call at %#x whose target could be asked for", g.mark0.Point.Addr)
	}
	return nil
}

// original loads into rax what a register held at the point.
func (g *generator) original(r x86.Reg) {
	for _, s := range g.saved {
		if s.reg == r {
			g.MovRM(x86.RAX, x86.RSP, int32(g.pushed-s.depth))
			return
		}
	}
	g.MovRR(x86.RAX, r)
}

var compare = map[ExprOp]x86.Cond{ExEq: x86.CondE, ExNe: x86.CondNE, ExLt: x86.CondL, ExLe: x86.CondLE, ExGt: x86.CondG, ExGe: x86.CondGE}

// operator computes rax = rax OP rdx.
func (g *generator) operator(op ExprOp) {
	switch op {
	case ExAdd:
		g.AddRR(x86.RAX, x86.RDX)
	case ExSub:
		g.SubRR(x86.RAX, x86.RDX)
	case ExMul:
		g.ImulRR(x86.RAX, x86.RDX)
	case ExAnd, ExOr:
		g.logical(op)
	case ExDiv:
		g.divide()
	default:
		g.CmpRR(x86.RAX, x86.RDX)
		g.Setcc(compare[op], x86.RAX)
		g.MovzxRB(x86.RAX, x86.RAX)
	}
}

func (g *generator) logical(op ExprOp) {
	g.truth(x86.RAX)
	g.truth(x86.RDX)
	if op == ExAnd {
		g.AndRR(x86.RAX, x86.RDX)
	} else {
		g.OrRR(x86.RAX, x86.RDX)
	}
}

func (g *generator) truth(r x86.Reg) {
	g.TestRR(r, r)
	g.Setcc(x86.CondNE, r)
	g.MovzxRB(r, r)
}
