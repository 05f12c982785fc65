package trampoline

import (
	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// redZone is how many bytes below the stack pointer C code may use without moving it.
const redZone = 128

// saves reports whether something is saved before the first instruction of ours that would destroy it.
func saves(m planner.Mark) bool { return m.RedZone || m.Flags }

// openSize is how many bytes open takes on the stack.
func openSize(m planner.Mark) (n int) {
	if m.RedZone {
		n = redZone
	}
	if m.Flags {
		n += 2 * 8
	}
	return n
}

// open saves what is live at a mark in the middle of a function before anything else runs: it steps over the red zone and keeps
// the flags, by way of rax.
func (g *generator) open(m planner.Mark) {
	if m.RedZone {
		g.reserve(redZone)
	}
	if m.Flags {
		g.push(x86.RAX)
		g.saved = append(g.saved, savedReg{x86.RAX, g.pushed})
		g.Lahf()
		g.SetO()
		g.push(x86.RAX)
	}
}

// close undoes open.
func (g *generator) close(m planner.Mark) {
	if m.Flags {
		g.pop(x86.RAX)
		g.AddAL(0x7F) // 1 overflows, 0 does not
		g.Sahf()
		g.pop(x86.RAX)
	}
	if m.RedZone {
		g.reserve(-redZone)
	}
	g.saved = nil
}

// section emits the mini-trampolines of one point: save, find the thread's block, the groups, restore.
func (g *generator) section(m planner.Mark, groups []Group) error {
	if len(groups) == 0 {
		if g.opened {
			g.close(m)
			g.opened = false
		}
		return nil
	}
	g.at(g.before(m))
	if g.called = 0; g.entersByCall(m) {
		g.called = 8
	}
	if !g.opened {
		g.open(m)
		g.laterGate(m)
	}
	g.opened = false
	g.mark0 = m
	g.kept = len(g.saved)
	regs, called := scratch(m, groups), wantsCallee(m, groups)
	if called {
		if err := g.keepCallee(m); err != nil {
			return err
		}
		regs = regs[1:]
	}
	for _, r := range regs {
		g.push(r)
		g.saved = append(g.saved, savedReg{r, g.pushed})
	}
	g.base = g.pushed
	g.findBlock()
	for i := range groups {
		if err := g.group(&groups[i]); err != nil {
			return err
		}
	}
	g.restore(g.kept)
	g.close(m)
	return nil
}

// restore takes back from the stack what a section has saved beyond what open did.
func (g *generator) restore(kept int) {
	for i := len(g.saved) - 1; i >= kept; i-- {
		if g.saved[i].depth == g.callee-8 {
			g.pop(x86.RAX) // the target itself
			g.callee = 0
		}
		g.pop(g.saved[i].reg)
	}
}

// wantsCallee reports whether a group asks where an indirect call goes.
func wantsCallee(m planner.Mark, groups []Group) bool {
	if m.Call == nil || m.Call.Inst.Flow != x86.FlowCallInd {
		return false
	}
	for _, g := range groups {
		for i := range g.Minis {
			if g.Minis[i].Expr.asksCallee() || g.Minis[i].Cond.asksCallee() {
				return true
			}
		}
	}
	return false
}

func (e *Expr) asksCallee() bool { return e.any(func(x *Expr) bool { return x.Op == ExCallee }) }

// keepCallee pushes rax and then where the call goes, before any other register changes.
func (g *generator) keepCallee(m planner.Mark) error {
	g.push(x86.RAX)
	g.saved = append(g.saved, savedReg{x86.RAX, g.pushed})
	if err := g.LoadOperand(&m.Call.Inst, m.Call.Code, int32(g.pushed)); err != nil {
		return err
	}
	g.push(x86.RAX)
	g.callee = g.pushed
	return nil
}

// scratch lists the registers that a section changes and that somebody may still read. Those that the function overwrites
// unread are among them only where a mini-trampoline reads registers itself.
func scratch(m planner.Mark, groups []Group) (list []x86.Reg) {
	use, reads := needs(groups)
	for _, r := range []x86.Reg{x86.RAX, x86.RCX, x86.RDX} {
		if use.Has(r) && (reads || !m.Dead.Has(r)) && !(r == x86.RAX && m.Flags) {
			list = append(list, r)
		}
	}
	return list
}

// needs tells which registers the groups change, and whether they read what registers held at the point.
func needs(groups []Group) (use x86.RegSet, reads bool) {
	use = 1<<x86.RAX | 1<<x86.RCX
	for _, g := range groups {
		for i := range g.Minis {
			m := &g.Minis[i]
			reads = reads || m.Expr.readsRegisters() || m.Cond.readsRegisters()
			if m.Cond != nil || m.Expr != nil && m.Expr.Op > ExWord || m.Op.timer() || m.Op.gauge() || m.distributes() || m.tabled() || m.Ending != ByReturn {
				use |= 1 << x86.RDX
			}
		}
	}
	return use, reads
}

func (e *Expr) readsRegisters() bool {
	return e.any(func(x *Expr) bool { return x.Op == ExCallee || x.Op == ExArg || x.Op == ExReturn })
}

func (g *generator) push(r x86.Reg) {
	g.Push(r)
	g.flush()
	g.pushed += 8
}

func (g *generator) pop(r x86.Reg) {
	g.Pop(r)
	g.flush()
	g.pushed -= 8
}

// reserve moves the stack pointer down by n bytes, or up by -n.
func (g *generator) reserve(n int) {
	g.Lea(x86.RSP, x86.RSP, int32(-n))
	g.flush()
	g.pushed += n
}

// findBlock leaves the address of the thread's block in rcx: the slot that the thread pointer hashes to, if it is its own.
func (g *generator) findBlock() {
	found := g.NewLabel()
	g.MovFS(x86.RAX, 0)
	hash(&g.Asm, g.env, x86.RCX, x86.RAX)
	g.ShlRI(x86.RCX, log2(g.env.BlockSize))
	g.AddAddr(x86.RCX, g.env.SlowAddr+slowDataOff)
	g.CmpMR(x86.RCX, 0, x86.RAX)
	g.JccNear(x86.CondNE, g.outOfLine(func() {
		g.LeaRIP(x86.RAX, found)
		g.JmpAddr(g.env.SlowAddr)
	}))
	g.Bind(found)
}

// hash leaves the slot of a thread pointer in slot: imul $hashFactor, tp, slot; shr $32-bits, slot, both of 32 bits and of the
// first eight registers.
func hash(a *x86.Asm, env *Env, slot, tp x86.Reg) {
	f := uint32(hashFactor)
	a.Raw(0x69, 0xC0|byte(slot)<<3|byte(tp), byte(f), byte(f>>8), byte(f>>16), byte(f>>24))
	a.Raw(0xC1, 0xE8|byte(slot), 32-env.slotBits())
}
