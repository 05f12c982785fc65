package trampoline

import (
	"errors"
	"fmt"

	"culprit/trampoline/x86"
)

// Calls of the target's own functions out of a probe. Compiled code may change every register that the ABI gives it, the vector
// registers and the x87 among them, and may run into probes that call in their turn. One stub in each island saves it all and
// keeps the depth at one; what a probe has besides is the arguments.

// CallDepth is the offset of the word of a thread block that guards against recursion: where the stub's frame was of a call that is
// under way, 0 if there is none.
const CallDepth = 8

// maxCallArgs are passed in registers.
const maxCallArgs = 6

// A VectorState says how the processor saves what it has besides general registers.
type VectorState struct {
	Mask uint32 // of the parts that XSAVE is to save; those that the system has not enabled are left out by the processor
	Size int    // of the area in bytes
}

// CallMask are the parts of the vector state that compiled code may change: x87, SSE, AVX, AVX-512 and the general registers of APX.
// Not the tiles of AMX, which nobody has in use at a call, and not the protection keys, which a call may have to change.
const CallMask = 1<<0 | 1<<1 | 1<<2 | 1<<5 | 1<<6 | 1<<7 | 1<<19

// callTarget leaves in rax what a function of the target returns. Arguments are pushed from the last to the first; the place of the
// first is that of the result, too, so that there is always one.
func (g *generator) callTarget(e *Expr) error {
	if g.env.CallAddr == 0 {
		return errors.New("functions of this target cannot be called: its CPU cannot save all registers (XSAVE)")
	}
	if len(e.Args) > maxCallArgs {
		return fmt.Errorf("a call has %d arguments: %d can be passed", len(e.Args), maxCallArgs)
	}
	for i := len(e.Args) - 1; i >= 0; i-- {
		if err := g.eval(e.Args[i]); err != nil {
			return err
		}
		g.push(x86.RAX)
	}
	if len(e.Args) == 0 {
		g.push(x86.RAX)
	}
	behind := g.NewLabel()
	g.MovImm64(x86.RAX, uint64(e.Value))
	g.LeaRIP(x86.RDX, behind)
	g.JmpAddr(g.env.CallAddr)
	g.Bind(behind)
	g.childOfCall()
	g.reserve(-8 * max(len(e.Args), 1))
	return nil
}

// divide computes rax = rax / rdx. Two divisors would stop the program: 0, and -1 of the lowest number.
func (g *generator) divide() {
	zero, minus, done := g.NewLabel(), g.NewLabel(), g.NewLabel()
	g.TestRR(x86.RDX, x86.RDX)
	g.Jcc(x86.CondE, zero)
	g.CmpRI(x86.RDX, -1)
	g.Jcc(x86.CondE, minus)
	g.push(x86.RDX)
	g.Raw(0x48, 0x99)             // cqo
	g.Raw(0x48, 0xF7, 0x3C, 0x24) // idivq (%rsp)
	g.pop(x86.RDX)
	g.Jmp(done)
	g.Bind(zero)
	g.XorRR(x86.RAX, x86.RAX)
	g.Bind(minus)
	g.NegR(x86.RAX)
	g.Bind(done)
}

// callSaved are the general registers that a callee may change and that the stub keeps. rax and rdx are free in a probe, and rcx,
// the thread's block, comes back out of rbx.
var callSaved = []x86.Reg{x86.RSI, x86.RDI, x86.R8, x86.R9, x86.R10, x86.R11}

// FrameArgs is how far above the frame of a call of the target's functions the stack of the probe is: there is the first argument, later
// the result. Meanwhile rbp points at the frame: three words, where the probe goes on, rbp and rbx of the program.
const FrameArgs = 24

// outermost is how far above a frame another must lie for the frame to be one that was left by an exception or longjmp.
const outermost = 1 << 20

// CallStub makes the stub of an island that calls a function of the target: its address is in rax, the thread's block in rcx, the
// address to go on at in rdx, and the arguments are on the stack, the first on top. The result takes the first one's place and is in
// rax; rdx changes. gate is Env.GateAddr: the function may fork, and the child has no thread blocks. back is the offset of the address
// to which the function returns.
func CallStub(v VectorState, addr, gate uint64) (code []byte, back int, err error) {
	var a x86.Asm
	a.Init(addr)
	call, skip, out := a.NewLabel(), a.NewLabel(), a.NewLabel()
	for _, r := range []x86.Reg{x86.RBX, x86.RBP, x86.RDX} {
		a.Push(r)
	}
	a.MovRR(x86.RBP, x86.RSP)
	a.Pushfq()
	for _, r := range callSaved {
		a.Push(r)
	}
	a.MovRR(x86.RBX, x86.RCX)
	a.MovRM(x86.RDX, x86.RBX, CallDepth)
	a.TestRR(x86.RDX, x86.RDX)
	a.Jcc(x86.CondE, call)
	a.MovRR(x86.RSI, x86.RBP)
	a.SubRR(x86.RSI, x86.RDX)
	a.CmpRI(x86.RSI, outermost)
	a.JccNear(x86.CondAE, skip) // below it, or on another stack
	a.Bind(call)
	a.MovMR(x86.RBX, CallDepth, x86.RBP)
	back = guardedCall(&a, v)
	if gate != 0 {
		a.CmpAddrR(gate, x86.RSP)
		a.Jcc(closed, out)
	}
	a.MovMI(x86.RBX, CallDepth, 0)
	a.Bind(out)
	a.Lea(x86.RSP, x86.RBP, int32(-8*(1+len(callSaved))))
	for i := len(callSaved) - 1; i >= 0; i-- {
		a.Pop(callSaved[i])
	}
	a.Popfq()
	a.MovRR(x86.RCX, x86.RBX)
	a.MovRM(x86.RAX, x86.RBP, FrameArgs)
	for _, r := range []x86.Reg{x86.RDX, x86.RBP, x86.RBX} {
		a.Pop(r)
	}
	a.JmpReg(x86.RDX)
	a.Bind(skip)
	a.MovMI(x86.RBP, FrameArgs, 0)
	a.JmpNear(out)
	if err := a.Finish(); err != nil {
		return nil, 0, fmt.Errorf("call stub: %w", err)
	}
	return a.Bytes(), back, nil
}

// guardedCall saves the vector state below the stack, calls, and restores it. It returns the offset behind the call.
func guardedCall(a *x86.Asm, v VectorState) (back int) {
	const header, headerSize = 512, 64
	a.Raw(0xFC) // cld: the ABI wants it so, and a point in the middle of a function may have it otherwise
	a.MovRR(x86.R11, x86.RAX)
	a.Lea(x86.RSP, x86.RSP, int32(-v.Size))
	a.AndRI(x86.RSP, -64)
	for off := int32(header); off < header+headerSize; off += 8 {
		a.MovMI(x86.RSP, off, 0) // XRSTOR refuses what XSAVE leaves there
	}
	vectorMask(a, v)
	a.Raw(0x48, 0x0F, 0xAE, 0x24, 0x24) // xsave64 (%rsp)
	a.Raw(0x0F, 0x77)                   // emms: the callee expects an empty x87 stack
	for i, r := range argRegs {
		a.MovRM(r, x86.RBP, int32(FrameArgs+8*i))
	}
	a.XorRR(x86.RAX, x86.RAX) // no vector registers among the arguments
	a.Raw(0x41, 0xFF, 0xD3)   // call *%r11
	back = a.Len()
	a.MovMR(x86.RBP, FrameArgs, x86.RAX)
	vectorMask(a, v)
	a.Raw(0x48, 0x0F, 0xAE, 0x2C, 0x24) // xrstor64 (%rsp)
	return back
}

// vectorMask loads edx:eax.
func vectorMask(a *x86.Asm, v VectorState) {
	a.MovImm32(x86.RAX, v.Mask)
	a.XorRR(x86.RDX, x86.RDX)
}
