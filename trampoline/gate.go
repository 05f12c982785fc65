package trampoline

import (
	"slices"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// GateOpen is the word at Env.GateAddr in a process that is no forked child: above every stack pointer, as 0 is below.
const GateOpen = ^uint64(0)

// closed is the condition that gate leaves where the gate is closed.
const closed = x86.CondB

// gate compares the gate with the stack pointer, which is neither 0 nor all ones: a comparison with a register and the jump behind
// it are one operation of the processor, one with a number is three.
func (g *generator) gate() { g.CmpAddrR(g.env.GateAddr, x86.RSP) }

// firstGate sends children to the bypass at the first mark, whatever runs there: so that they find the same code in every version.
func (g *generator) firstGate(i int) {
	if g.env.GateAddr == 0 || len(g.site.Marks) == 0 || g.site.Marks[0].Index != i || g.whenTaken(g.site.Marks[0]) {
		return
	}
	m := g.site.Marks[0]
	g.at(g.before(m))
	g.open(m)
	g.gate()
	if saves(m) {
		g.JccNear(closed, g.child)
	} else {
		g.JccNear(closed, g.plain[i])
	}
	g.gated, g.opened, g.out.Fixed = true, true, g.Len()
}

// childExit is where the gate of the first mark sends children if something was saved before it. It lies among what is the same
// in every version.
func (g *generator) childExit() {
	if g.env.GateAddr == 0 || len(g.site.Marks) == 0 || g.whenTaken(g.site.Marks[0]) || !saves(g.site.Marks[0]) {
		return
	}
	m := g.site.Marks[0]
	g.child = g.NewLabel()
	g.at(g.before(m))
	g.pushed = openSize(m)
	g.Bind(g.child)
	g.close(m)
	g.JmpNear(g.plain[m.Index])
	g.flush()
}

// laterGate sends children away at a mark that is not behind the first gate.
func (g *generator) laterGate(m planner.Mark) {
	if g.gated || g.env.GateAddr == 0 {
		return
	}
	g.gate()
	g.JccNear(closed, g.outOfLine(func() {
		g.close(m)
		g.bypassed(m)
	}))
}

// childOfCall sends a child away that a function of the target, called by this probe, has forked: it has no thread blocks. Everything
// that the section has saved is put back on the way.
func (g *generator) childOfCall() {
	if g.env.GateAddr == 0 {
		return
	}
	m, saved, kept, callee, base := g.mark0, slices.Clone(g.saved), g.kept, g.callee, g.base
	g.gate()
	g.JccNear(closed, g.outOfLine(func() {
		g.reserve(base - g.pushed)
		g.saved, g.callee = saved, callee
		g.restore(kept)
		g.close(m)
		g.bypassed(m)
	}))
}

// bypassed goes on behind a mark without its mini-trampolines.
func (g *generator) bypassed(m planner.Mark) {
	if g.whenTaken(m) {
		g.JmpAddr(g.site.Insts[m.Index].Target)
		return
	}
	g.JmpNear(g.plain[m.Index])
}
