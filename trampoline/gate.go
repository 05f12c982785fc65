package trampoline

import "culprit/trampoline/x86"

// GateOpen is the word at Env.GateAddr in a process that is no forked child: above every stack pointer, as 0 is below.
const GateOpen = ^uint64(0)

// closed is the condition that gate leaves where the gate is closed.
const closed = x86.CondB

// gate compares the gate with the stack pointer, which is neither 0 nor all ones: a comparison with a register and the jump behind
// it are one operation of the processor, one with a number is three.
func (g *generator) gate() {
	const cmpLen = 7 // 48 39 25 disp32: cmp %rsp, disp32(%rip)
	d := int64(g.env.GateAddr) - int64(g.addr+uint64(g.Len())+cmpLen)
	g.Raw(0x48, 0x39, 0x25, byte(d), byte(d>>8), byte(d>>16), byte(d>>24))
}

// firstGate sends children to the bypass at the first mark, whatever runs there: so that they find the same code in every version.
func (g *generator) firstGate(i int) {
	if g.env.GateAddr == 0 || len(g.site.Marks) == 0 || g.site.Marks[0].Index != i || g.whenTaken(g.site.Marks[0]) {
		return
	}
	m := g.site.Marks[0]
	g.at(g.before(m))
	g.open(m)
	g.gate()
	if m.saves() {
		g.JccNear(closed, g.child)
	} else {
		g.JccNear(closed, g.plain[i])
	}
	g.gated, g.opened, g.out.Fixed = true, true, g.Len()
}

// childExit is where the gate of the first mark sends children if something was saved before it. It lies among what is the same
// in every version.
func (g *generator) childExit() {
	if g.env.GateAddr == 0 || len(g.site.Marks) == 0 || g.whenTaken(g.site.Marks[0]) || !g.site.Marks[0].saves() {
		return
	}
	m := g.site.Marks[0]
	g.child = g.NewLabel()
	g.at(g.before(m))
	g.pushed = m.openSize()
	g.Bind(g.child)
	g.close(m)
	g.JmpNear(g.plain[m.Index])
	g.flush()
}

// laterGate sends children away at a mark that is not behind the first gate.
func (g *generator) laterGate(m Mark) {
	if g.gated || g.env.GateAddr == 0 {
		return
	}
	g.gate()
	g.JccNear(closed, g.outOfLine(func() {
		g.close(m)
		if g.whenTaken(m) {
			g.JmpAddr(g.site.Insts[m.Index].Target)
			return
		}
		g.JmpNear(g.plain[m.Index])
	}))
}
