package trampoline

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// What the text of a program has besides that of a sample.
const (
	wrapAt    = textAt + 0x40   // calls the function and leaves the flags in r14
	nearAt    = textAt + 0xf0   // another function, which a short jump reaches
	slotsAt   = textAt + 0x2080 // where an indirect jump reads that it leads to tailAt
	programSP = entrySP - 8     // stack pointer at the function's entry
	codeEnd   = textAt + 0x900  // the function ends before it
)

// A program is a function made up by chance together with its slow twin: what each instruction does is also written in Go, so
// that the points that are passed, and what registers hold there, are known without running it.
type program struct {
	a       x86.Asm
	rng     *rand.Rand
	nodes   []node
	code    []byte
	insts   []x86.Inst
	points  []planner.Point
	targets map[uint64]bool
	padding uint64
	pads    bool
	framed  bool // rbx is on the stack
}

// A node is some code and what it does.
type node struct {
	does func(c *machine)
	cond *condition    // of a branch; nil = it is always taken
	skip int           // for a branch inside the function, the node that it leads to
	exit planner.Point // for an exit of the function, else zero
	call planner.Point // for a call, else zero
	end  uint64        // where that returns to
}

type condition struct {
	cc   byte
	a, b x86.Reg
}

// A machine is the twin's processor.
type machine struct {
	r      registers
	rbx    uint64 // pushed
	sp     uint64
	flags  uint64 // those that were set since the last point that was passed, to what the architecture says
	passed func(p planner.Point, c *machine)
}

// makeProgram makes a function.
func makeProgram(rng *rand.Rand) *program {
	p := &program{rng: rng, targets: map[uint64]bool{funcAt: true}, padding: []uint64{0, 1, 4, 11}[rng.IntN(4)], pads: rng.IntN(3) == 0}
	p.a.Init(funcAt)
	p.points = append(p.points, planner.Point{Kind: planner.FuncEntry, Addr: funcAt})
	if rng.IntN(4) == 0 {
		p.a.Raw(0xF3, 0x0F, 0x1E, 0xFA) // endbr64
	}
	if rng.IntN(4) == 0 {
		p.add(1)
		p.target()
	}
	p.ops(3)
	if rng.IntN(3) == 0 {
		p.early()
	}
	p.ops(3)
	if p.framed = rng.IntN(3) == 0; p.framed {
		p.a.Push(x86.RBX)
		p.do(func(c *machine) { c.rbx, c.sp = c.r[x86.RBX], c.sp-8 })
	}
	if rng.IntN(2) == 0 {
		p.call()
	}
	p.ops(4)
	if rng.IntN(3) == 0 {
		p.early()
	}
	if !p.framed && rng.IntN(3) == 0 {
		p.tailCond()
	}
	p.ops(2)
	p.exit()
	p.finish()
	return p
}

// do adds what the code emitted last does.
func (p *program) do(f func(c *machine)) { p.nodes = append(p.nodes, node{does: f}) }

// target says that something may jump here, as nothing does.
func (p *program) target() { p.targets[p.a.Addr()] = true }

// ops emits up to n instructions, now and then one that something may jump to.
func (p *program) ops(n int) {
	for range p.rng.IntN(n + 1) {
		if p.rng.IntN(7) == 0 {
			p.target()
		}
		p.add(p.rng.IntN(3))
	}
}

// add emits an instruction: a short one (1: of one byte) or any.
func (p *program) add(kind int) {
	a, d, s := &p.a, scratchRegs[p.rng.IntN(len(scratchRegs))], scratchRegs[p.rng.IntN(len(scratchRegs))]
	if kind == 1 {
		p.tiny()
		return
	}
	v := p.rng.Uint64()
	switch p.rng.IntN(10) {
	case 0:
		a.MovImm64(d, v)
		p.do(func(c *machine) { c.r[d] = v })
	case 1:
		a.AddRR(d, s)
		p.sets(func(c *machine) { c.r[d] += c.r[s] })
	case 2:
		a.SubRI(d, int32(v))
		p.sets(func(c *machine) { c.r[d] -= uint64(int64(int32(v))) })
	case 3:
		a.ImulRR(d, s)
		p.setsBut(undefinedByImul, func(c *machine) { c.r[d] *= c.r[s] })
	case 4:
		a.Lea(d, s, int32(v%200))
		p.do(func(c *machine) { c.r[d] = c.r[s] + v%200 })
	case 5:
		a.XorRR(d, s)
		p.sets(func(c *machine) { c.r[d] ^= c.r[s] })
	case 6:
		a.ShlRI(d, uint8(1+v%30))
		p.setsBut(undefinedByShl, func(c *machine) { c.r[d] <<= 1 + v%30 })
	case 7:
		a.NegR(d)
		p.sets(func(c *machine) { c.r[d] = -c.r[d] })
	case 8:
		a.LeaAddr(d, textAt+v%4096) // reads its own address
		p.do(func(c *machine) { c.r[d] = textAt + v%4096 })
	case 9:
		a.MovRR(d, s)
		p.do(func(c *machine) { c.r[d] = c.r[s] })
	}
}

// sets adds what the instruction emitted last does, flags included.
func (p *program) sets(f func(c *machine)) { p.setsBut(0, f) }

// What some instructions leave undefined: one make of processors keeps it as it was before, where a trampoline may have changed it, and
// another does not.
const (
	undefinedByImul = 0xD4  // SF ZF AF PF
	undefinedByShl  = 0x810 // OF AF, if the count is not 1
)

// setsBut is sets for an instruction that leaves some flags undefined.
func (p *program) setsBut(undefined uint64, f func(c *machine)) {
	p.do(func(c *machine) {
		f(c)
		c.flags = flagBits &^ undefined
	})
}

// tiny emits an instruction of one byte, or two.
func (p *program) tiny() {
	switch p.rng.IntN(4) {
	case 0:
		p.a.Raw(0x98) // cwtl
		p.do(func(c *machine) { c.r[x86.RAX] = uint64(uint32(int32(int16(c.r[x86.RAX])))) })
	case 1:
		p.a.Raw(0x99) // cltd
		p.do(func(c *machine) { c.r[x86.RDX] = uint64(uint32(int32(c.r[x86.RAX]) >> 31)) })
	case 2:
		r := []x86.Reg{x86.RCX, x86.RDX, x86.RBX, x86.RSI, x86.RDI}[p.rng.IntN(5)]
		p.a.Raw(0x90 | byte(r)) // xchg %eax, r
		p.do(func(c *machine) {
			c.r[x86.RAX], c.r[r] = uint64(uint32(c.r[r])), uint64(uint32(c.r[x86.RAX]))
		})
	case 3:
		p.a.Raw(0x01, 0xFE) // add %edi, %esi
		p.sets(func(c *machine) { c.r[x86.RSI] = uint64(uint32(c.r[x86.RSI]) + uint32(c.r[x86.RDI])) })
	}
}

// test emits `test a, b`, where the condition of the branch behind it comes from.
func (p *program) test() *condition {
	c := &condition{byte(p.rng.IntN(16)), scratchRegs[p.rng.IntN(len(scratchRegs))], scratchRegs[p.rng.IntN(len(scratchRegs))]}
	p.a.TestRR(c.a, c.b)
	p.sets(func(*machine) {})
	return c
}

// early emits an exit that a branch leads around.
func (p *program) early() {
	n := node{cond: p.test()}
	at := len(p.nodes)
	over := p.a.NewLabel()
	if p.rng.IntN(2) == 0 {
		p.a.Jcc(x86.Cond(n.cond.cc), over)
	} else {
		p.a.JccNear(x86.Cond(n.cond.cc), over)
	}
	p.nodes = append(p.nodes, n)
	if p.rng.IntN(4) == 0 {
		p.target()
	}
	p.exit()
	p.a.Bind(over)
	p.target()
	p.nodes[at].skip = len(p.nodes)
}

// leave takes rbx from the stack before an exit.
func (p *program) leave() {
	if p.framed {
		p.a.Pop(x86.RBX)
		p.do(func(c *machine) { c.r[x86.RBX], c.sp = c.rbx, c.sp+8 })
	}
}

// exit emits one of the ends of a function.
func (p *program) exit() {
	kind := []planner.PointKind{planner.Ret, planner.Ret, planner.Ret, planner.TailJump, planner.TailJump, planner.TailInd, planner.TailInd}[p.rng.IntN(7)]
	if p.rng.IntN(2) == 0 && kind == planner.TailInd {
		p.a.MovImm64(x86.R11, tailAt)
		p.do(func(c *machine) { c.r[x86.R11] = tailAt })
		p.leave()
		p.end(kind, func() { p.a.JmpReg(x86.R11) })
		return
	}
	p.leave()
	p.end(kind, func() { p.jumpOut(kind) })
}

func (p *program) jumpOut(kind planner.PointKind) {
	near := int64(nearAt) - int64(p.a.Addr()+planner.ShortLen)
	switch {
	case kind == planner.Ret:
		p.a.Ret()
	case kind == planner.TailInd:
		d := int32(slotsAt - int64(p.a.Addr()) - 6)
		p.a.Raw(0xFF, 0x25, byte(d), byte(d>>8), byte(d>>16), byte(d>>24)) // jmp *slotsAt(%rip)
	case near >= -128 && p.rng.IntN(2) == 0:
		p.a.Raw(0xEB, byte(near))
	default:
		p.a.JmpAddr(tailAt)
	}
}

// end adds an exit at this address.
func (p *program) end(kind planner.PointKind, emit func()) {
	pt := planner.Point{Kind: kind, Addr: p.a.Addr()}
	p.points = append(p.points, pt)
	emit()
	p.nodes = append(p.nodes, node{exit: pt})
}

// tailCond emits a conditional jump to another function.
func (p *program) tailCond() {
	n := node{cond: p.test()}
	n.exit = planner.Point{Kind: planner.TailCond, Addr: p.a.Addr()}
	p.points = append(p.points, n.exit)
	if near := int64(nearAt) - int64(p.a.Addr()+planner.ShortLen); near >= -128 && p.rng.IntN(2) == 0 {
		p.a.Raw(0x70|n.cond.cc, byte(near))
	} else {
		p.a.JccAddr(x86.Cond(n.cond.cc), tailAt)
	}
	p.nodes = append(p.nodes, n)
}

// call emits a call, direct or not.
func (p *program) call() {
	if p.rng.IntN(3) == 0 {
		p.a.MovImm64(x86.R11, calleeAt)
		p.do(func(c *machine) { c.r[x86.R11] = calleeAt })
		p.ops(2)
		p.called(func() { p.a.Raw(0x41, 0xFF, 0xD3) }) // call *%r11
		return
	}
	p.called(func() {
		d := int32(calleeAt - int64(p.a.Addr()) - planner.JumpLen)
		p.a.Raw(0xE8, byte(d), byte(d>>8), byte(d>>16), byte(d>>24))
	})
}

func (p *program) called(emit func()) {
	n := node{call: planner.Point{Kind: planner.CallPre, Addr: p.a.Addr()}}
	emit()
	n.end = p.a.Addr()
	n.does = func(c *machine) { // inc %rax; xor %rax, %r9
		c.r[x86.RAX]++
		c.r[x86.R9] ^= c.r[x86.RAX]
		c.flags = flagBits
	}
	p.nodes = append(p.nodes, n)
}

// finish decodes what was emitted; points of calls come last, as the planner wants.
func (p *program) finish() {
	if err := p.a.Finish(); err != nil {
		panic(err)
	}
	p.code = p.a.Bytes()
	p.insts = decodeAll(p.code, funcAt)
	for _, n := range p.nodes {
		if n.call.Addr != 0 {
			p.points = append(p.points, n.call, planner.Point{Kind: planner.CallPost, Addr: n.end})
		}
	}
}

// body is the program as the planner sees it.
func (p *program) body() *planner.Body {
	end, pads := funcAt+uint64(len(p.code)), padsAt
	return &planner.Body{
		Insts:  p.insts,
		Bytes:  func(addr uint64, n int) []byte { return p.code[addr-funcAt:][:n] },
		Target: func(addr uint64) bool { return p.targets[addr] },
		PadEnd: func(addr uint64) uint64 {
			if addr == end {
				return end + p.padding
			}
			return addr
		},
		Pads: func(near uint64) []planner.Pad {
			if !p.pads || near-funcAt > 0x30 || pads >= nearAt-8 {
				return nil
			}
			pads += 8
			return []planner.Pad{{Addr: uint64(pads - 8), Len: planner.JumpLen}}
		},
	}
}

// text is the runner's text with the program in it, and room for trampolines.
func (p *program) text(t testing.TB) []byte {
	t.Helper()
	if end := funcAt + uint64(len(p.code)); end > codeEnd {
		t.Fatalf("the function ends at %#x", end)
	}
	text := make([]byte, roomAt-textAt, 1<<18)
	for i := range text {
		text[i] = 0xCC
	}
	put := func(at uint64, code ...byte) { copy(text[at-textAt:], code) }
	put(funcAt, p.code...)
	put(calleeAt, 0x48, 0xFF, 0xC0, 0x49, 0x31, 0xC1, 0xC3) // inc %rax; xor %rax,%r9; ret
	put(tailAt, 0x48, 0x8D, 0x6D, 0x01, 0xC3)               // lea 1(%rbp),%rbp; ret
	put(nearAt, 0x48, 0x8D, 0x6D, 0x01, 0xC3)
	var wrap x86.Asm
	wrap.Init(wrapAt)
	d := int32(funcAt - wrapAt - planner.JumpLen)
	wrap.Raw(0xE8, byte(d), byte(d>>8), byte(d>>16), byte(d>>24), 0x9C) // call funcAt; pushfq
	wrap.Pop(x86.R14)
	wrap.Ret()
	put(wrapAt, wrap.Bytes()...)
	put(slotsAt, binary.LittleEndian.AppendUint64(nil, tailAt)...)
	put(gateAt, gateWord(true)...)
	stub, err := SlowStub(nativeEnv(), slowAt)
	if err != nil {
		t.Fatal(err)
	}
	put(slowAt, stub...)
	putCallees(t, text)
	return text
}

// execute runs the twin and reports every point that is passed, in order. The registers are those at the end.
func (p *program) execute(in registers, passed func(pt planner.Point, c *machine)) *machine {
	c := &machine{r: in, sp: programSP, passed: passed}
	c.passed(planner.Point{Kind: planner.FuncEntry, Addr: funcAt}, c)
	for i := 0; i < len(p.nodes); i++ {
		n := &p.nodes[i]
		switch taken := n.cond == nil || n.cond.holds(&c.r); {
		case n.exit.Addr != 0 && taken:
			return c.left(n.exit)
		case n.cond != nil && n.exit.Addr == 0 && taken:
			i = n.skip - 1
		case n.call.Addr != 0:
			c.passed(n.call, c)
			n.does(c)
			c.passed(planner.Point{Kind: planner.CallPost, Addr: n.end}, c)
		case n.does != nil:
			n.does(c)
		}
	}
	panic("BUG: the program has no end")
}

// left leaves the function; the ones that it jumps to do lea 1(%rbp), %rbp.
func (c *machine) left(exit planner.Point) *machine {
	c.passed(exit, c)
	if exit.Kind != planner.Ret {
		c.r[x86.RBP]++
	}
	return c
}

// holds tells whether a branch behind `test a, b` is taken.
func (n *condition) holds(r *registers) bool {
	v := r[n.a] & r[n.b]
	zero, sign, even := v == 0, int64(v) < 0, bits.OnesCount8(uint8(v))%2 == 0
	holds := []bool{false, false, zero, zero, sign, even, sign, sign || zero}[n.cc>>1] // O B E BE S P L LE; OF = CF = 0
	return holds != (n.cc&1 == 1)
}
