package trampoline

import (
	"fmt"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// Env is what the code of base trampolines has built in about its process.
type Env struct {
	Geometry
	DataAddr   uint64 // of the first thread block, in the target
	ClaimsAddr uint64 // of the bytes that say which slots were claimed
	FilesAddr  uint64 // of the table of open files; 0 = there is none
	SlowAddr   uint64 // of the island's stub that finds a thread block when the first look fails
	CallAddr   uint64 // of the island's stub that calls functions of the target; 0 = they cannot be called
	GateAddr   uint64 // of a word, GateOpen, that is 0 in children that the process has forked; 0 = there is none
	PID        int    // of the process, as it sees itself; 0 = not known
	Scale      int32  // nanoseconds of a cycle of the time-stamp counter, times 2^20
}

// hashFactor spreads thread pointers over slots: 2^32 / golden ratio. The product is taken modulo 2^32 and its highest bits
// count, which all lower bits of the pointer reach: stacks lie at equal distances, and must not share a slot for that.
const hashFactor = 0x9E3779B1

// Slot is the first slot at which the block of a thread pointer is looked for.
func (g Geometry) Slot(threadPointer uint64) int {
	return int(uint32(threadPointer) * hashFactor >> (32 - g.slotBits()))
}

func (g Geometry) slotBits() uint8 { return log2(g.Slots) }

func log2(n int) (b uint8) {
	for 1<<b < n {
		b++
	}
	return b
}

// A Base is a generated base trampoline.
type Base struct {
	Code    []byte
	Size    int              // of the code in bytes
	Entry   int              // offset at which the site's jump enters
	Host    int              // offset at which the jump of the site's host enters
	Switch  int              // offset of the two-byte switch of the whole trampoline
	Toggles map[uint64][]int // owner -> offsets of its two-byte switches
	Skip    []Skip           // of all switches
	Spans   []Span           // how to unwind from inside
	// Fixed is how many bytes at the beginning are the same in every base trampoline of the site at this address, its switch
	// apart. Forked children, which share this memory but not the site's jumps of today, run only in these. 0 if children may
	// run elsewhere in it too: then nothing may ever take its place.
	Fixed int
}

// A Span says what a thread whose PC is in [From, To) of the code was about to do: the original instruction at Orig, with
// Pushed bytes of ours on its stack.
type Span struct {
	From, To int
	Orig     uint64
	Pushed   int
}

// SpanAt finds the span of an offset in the code.
func (b *Base) SpanAt(off int) (Span, bool) {
	for _, s := range b.Spans {
		if off >= s.From && off < s.To {
			return s, true
		}
	}
	return Span{}, false
}

// generator builds one base trampoline.
type generator struct {
	x86.Asm
	env  *Env
	site *planner.Site
	out  Base
	addr uint64

	saved  []savedReg // in the order in which they were pushed
	callee int        // depth at which the target of an indirect call was pushed, 0 = it was not
	pushed int        // bytes on the stack beyond the original stack pointer
	kept   int        // how many of them open has pushed
	base   int        // pushed while no expression has anything on the stack
	called int        // bytes that the target's own call has pushed since the point: the entry of a function that begins with one
	orig   uint64     // the instruction that a thread here is about to do
	mark   int        // offset from which pushed and orig hold

	plain  []x86.Label  // where the bypass does displaced instruction i; the last one leaves
	mark0  planner.Mark // whose section is being made
	gated  bool         // children have left for the bypass
	opened bool         // the gate of the first mark has saved what its section saves first
	far    bool         // a mini is too long for short jumps over it
	late   []late       // code that is rarely reached
	child  x86.Label    // where the first gate leads

	trial   *generator // on which minis are made to learn how long they are
	lengths []int      // of the minis of a group
}

// A savedReg is a pushed register: it lies that many bytes below the original stack pointer.
type savedReg struct {
	reg   x86.Reg
	depth int
}

// late is code that lies behind everything else, so that the usual way is a straight one.
type late struct {
	at     x86.Label
	orig   uint64
	pushed int
	emit   func()
}

// outOfLine has emit make code behind everything else, for a thread that comes there from here.
func (g *generator) outOfLine(emit func()) x86.Label {
	l := g.NewLabel()
	g.late = append(g.late, late{l, g.orig, g.pushed, emit})
	return l
}

func (g *generator) emitLate() {
	for _, l := range g.late {
		g.flush()
		g.orig, g.pushed = l.orig, l.pushed
		g.Bind(l.at)
		l.emit()
	}
	g.flush()
	g.pushed = 0
}

// Generate makes the base trampoline of a site at addr. groups gives the mini-trampolines of each mark of the site, in order
// of execution; a mark without any is served for nothing.
func Generate(env *Env, site *planner.Site, groups [][]Group, addr uint64) (*Base, error) {
	g := &generator{env: env, site: site, addr: addr}
	g.Init(addr)
	g.out.Toggles = map[uint64][]int{}
	for range len(site.Insts) + 1 {
		g.plain = append(g.plain, g.NewLabel())
	}
	if err := g.host(); err != nil {
		return nil, err
	}
	g.childExit()
	if err := g.mainSwitch(); err != nil {
		return nil, err
	}
	if err := g.body(groups); err != nil {
		return nil, err
	}
	g.emitLate()
	if err := g.Finish(); err != nil {
		return nil, fmt.Errorf("base trampoline of %#x: %w", site.Addr, err)
	}
	g.out.Code = g.Bytes()
	g.out.Size = g.Len()
	return &g.out, nil
}

// host emits the instructions that made room for the site. They come first, where they stay in every version.
func (g *generator) host() error {
	h := g.site.Host
	if h == nil || h.Call() != 0 {
		return nil
	}
	g.out.Host = g.Len()
	for i := range h.Insts {
		if err := g.moved(&h.Insts[i], h.Code[h.Insts[i].Addr-h.Addr:]); err != nil {
			return err
		}
	}
	if !planner.Ends(&h.Insts[len(h.Insts)-1]) {
		g.at(h.End())
		g.JmpAddr(h.End())
	}
	return nil
}

// moved emits an instruction so that it does here what it does at its place, where code begins with it.
func (g *generator) moved(in *x86.Inst, code []byte) error {
	g.at(in.Addr)
	here, err := x86.Relocate(nil, code[:in.Len], *in, g.addr+uint64(g.Len()))
	if err != nil {
		return err
	}
	g.Raw(here...)
	return nil
}

// bypass emits the displaced instructions alone.
func (g *generator) bypass() error {
	for i := range g.site.Insts {
		g.Bind(g.plain[i])
		if err := g.displaced(i); err != nil {
			return err
		}
	}
	g.Bind(g.plain[len(g.site.Insts)])
	return g.leave()
}

// body emits the displaced instructions with the mini-trampolines of every mark before the instruction that it belongs to.
func (g *generator) body(groups [][]Group) error {
	for i := 0; i <= len(g.site.Insts); i++ {
		g.firstGate(i)
		for k, m := range g.site.Marks {
			if m.Index != i || g.whenTaken(m) {
				continue
			}
			if err := g.section(m, groups[k]); err != nil {
				return err
			}
		}
		if i == len(g.site.Insts) {
			break
		}
		if err := g.displacedAt(i, groups); err != nil {
			return err
		}
	}
	return g.leave()
}

// displacedAt emits instruction i; a conditional jump with mini-trampolines of its own runs them on the way out only.
func (g *generator) displacedAt(i int, groups [][]Group) error {
	over, taken := g.NewLabel(), false
	for k, m := range g.site.Marks {
		if m.Index != i || !g.whenTaken(m) || len(groups[k]) == 0 {
			continue
		}
		if !taken {
			taken = true
			g.at(g.site.Insts[i].Addr)
			g.JccNear(x86.Cond(g.site.Insts[i].Opcode&0xF)^1, over)
		}
		if err := g.section(m, groups[k]); err != nil {
			return err
		}
	}
	if !taken {
		return g.displaced(i)
	}
	g.JmpAddr(g.site.Insts[i].Target)
	g.Bind(over)
	return nil
}

// displaced emits instruction i so that it does here what it did at its place.
func (g *generator) displaced(i int) error {
	in := &g.site.Insts[i]
	if g.site.Tactic == planner.Retarget {
		g.at(in.Target)
		g.JmpAddr(in.Target) // the branch itself was taken at its place; a call has pushed its true return address
		return nil
	}
	return g.moved(in, g.site.Code[in.Addr-g.site.Addr:])
}

// leave jumps back behind the site unless its last instruction does not go on.
func (g *generator) leave() error {
	last := &g.site.Insts[len(g.site.Insts)-1]
	if g.site.Tactic == planner.Retarget || planner.Ends(last) {
		return nil
	}
	g.at(g.site.End())
	g.JmpAddr(g.site.End())
	return nil
}

// at says which instruction of the target the code from here on stands before.
func (g *generator) at(orig uint64) {
	g.flush()
	g.orig = orig
}

// flush closes the span in which pushed and orig were the same.
func (g *generator) flush() {
	if n := g.Len(); n > g.mark {
		g.out.Spans = append(g.out.Spans, Span{g.mark, n, g.orig, g.pushed})
		g.mark = n
	}
}

// whenTaken reports whether the mini-trampolines of a mark run only when its branch is taken, which the trampoline finds out.
func (g *generator) whenTaken(m planner.Mark) bool {
	if g.site.Tactic == planner.Retarget || m.Index >= len(g.site.Insts) {
		return false
	}
	return m.Point.Kind == planner.TailCond || m.Point.Kind == planner.Taken && g.site.Insts[m.Index].Flow == x86.FlowCond
}

// before is the instruction that a thread at a mark is about to do.
func (g *generator) before(m planner.Mark) uint64 {
	switch {
	case g.site.Tactic == planner.Retarget:
		return g.site.Insts[0].Target // the branch has happened: after a call the thread is at the callee's door
	case m.Index < len(g.site.Insts):
		return g.site.Insts[m.Index].Addr
	}
	return g.site.End()
}

// entersByCall reports whether a mark is the entry of a function that begins with a call: its trampoline is behind the call.
func (g *generator) entersByCall(m planner.Mark) bool {
	return m.Point.Kind == planner.FuncEntry && g.site.Tactic == planner.Retarget && g.site.Insts[0].Flow == x86.FlowCall
}

// Way is the direct way into a base trampoline at addr.
func (b *Base) Way(addr uint64) planner.Way {
	return planner.Way{Site: addr + uint64(b.Entry), Host: addr + uint64(b.Host)}
}
