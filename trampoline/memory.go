package trampoline

import (
	"encoding/binary"
	"fmt"

	"culprit/trampoline/x86"
)

// Probes read the target's memory through the kernel, with process_vm_readv on the thread itself: it copies what can be read
// and says how much that was, so no pointer that the target hands us can do harm. To ask first whether memory is there and
// then to read it takes a quarter of the time (a call of rt_sigprocmask that must fail), but another thread may unmap the
// memory in between, and then the target dies of us. What is copied may still change while it is copied, as for any reader.

// MaxText is how many bytes ExMatch compares at most: they lie on the target's stack while they are compared.
const MaxText = 128

const (
	sysGettid         = 186
	sysProcessVMReadv = 310
	esrch             = 3
	iovecs            = 32 // bytes: one struct iovec for here, one for there (readv(2))
)

// ofMemory tells whether the operation belongs to this file.
func (e *Expr) ofMemory() bool { return e.Op >= ExNarrow && e.Op <= ExPath }

// AsksKernel reports whether evaluating the expression makes system calls.
func (e *Expr) AsksKernel() bool {
	return e.any(func(x *Expr) bool { return x.Op == ExLoad || x.Op == ExMatch || x.Op == ExPath })
}

// hasEffects tells whether it matters if the expression is evaluated.
func (e *Expr) hasEffects() bool { return e.any(func(x *Expr) bool { return x.Op == ExCall }) }

// memory leaves the value of an expression of this file in rax.
func (g *generator) memory(e *Expr) error {
	if err := e.checkMemory(); err != nil {
		return err
	}
	switch e.Op {
	case ExSP:
		g.stackPointer(x86.RAX)
		return nil
	case ExStack:
		g.MovSizedRM(x86.RAX, x86.RSP, int32(g.pushed+g.called)+int32(e.Value), int(e.Size), e.Signed)
		return nil
	}
	if err := g.eval(e.L); err != nil {
		return err
	}
	switch e.Op {
	case ExNarrow:
		g.MovSizedRR(x86.RAX, x86.RAX, int(e.Size), e.Signed)
	case ExLoad:
		g.fetch(e, int(e.Size), g.loaded)
	case ExMatch:
		g.fetch(e, len(e.Text), g.matched)
	case ExPath:
		g.fetch(e, MaxText, g.samePath)
	}
	return nil
}

// cheaperFirst emits && and || so that the kernel is asked only if the other side does not decide already.
func (g *generator) cheaperFirst(e *Expr) error {
	first, second := e.L, e.R
	if first.AsksKernel() && !second.AsksKernel() {
		first, second = second, first
	}
	if err := g.eval(first); err != nil {
		return err
	}
	g.truth(x86.RAX)
	decided, when := g.NewLabel(), x86.CondE
	if e.Op == ExOr {
		when = x86.CondNE
	}
	g.TestRR(x86.RAX, x86.RAX)
	g.JccNear(when, decided)
	if err := g.eval(second); err != nil {
		return err
	}
	g.truth(x86.RAX)
	g.Bind(decided)
	return nil
}

// maxOffset bounds the distance of what is read from an address.
const maxOffset = 1 << 30

func (e *Expr) checkMemory() error {
	switch {
	case e.Op == ExMatch && (len(e.Text) == 0 || len(e.Text) > MaxText):
		return fmt.Errorf("%d bytes cannot be compared with memory: 1 to %d can", len(e.Text), MaxText)
	case e.Op == ExPath && (len(e.Text) == 0 || len(e.Text) >= MaxText || shortPath(e.Text) != e.Text):
		return fmt.Errorf("%q is no path that can be compared with memory", e.Text)
	case e.Op != ExMatch && e.Op != ExPath && e.Op != ExSP && e.Size != 1 && e.Size != 2 && e.Size != 4 && e.Size != 8:
		return fmt.Errorf("%d bytes are no number: 1, 2, 4 or 8 are", e.Size)
	case e.Value < -maxOffset || e.Value > maxOffset || e.Op == ExStack && e.Value < 0:
		return fmt.Errorf("memory at a distance of %d bytes cannot be read", e.Value)
	}
	return nil
}

// fetched are the registers that a system call of ours destroys or takes its arguments in; rax and rdx are free.
var fetched = [...]x86.Reg{x86.RCX, x86.RDI, x86.RSI, x86.R8, x86.R9, x86.R10, x86.R11}

// fetch copies the n bytes at rax + e.Value onto the stack, where use finds them; rax says how many they are.
func (g *generator) fetch(e *Expr, n int, use func(e *Expr)) {
	for _, r := range fetched {
		g.push(r)
	}
	room := iovecs + (n+7)&^7
	g.reserve(room)
	g.Lea(x86.RAX, x86.RAX, int32(e.Value))
	g.MovMR(x86.RSP, 16, x86.RAX)
	g.Lea(x86.RAX, x86.RSP, iovecs)
	g.MovMR(x86.RSP, 0, x86.RAX)
	g.MovMI(x86.RSP, 8, int32(n))
	g.MovMI(x86.RSP, 24, int32(n))
	g.readSelf()
	use(e)
	g.reserve(-room)
	for i := range fetched {
		g.pop(fetched[len(fetched)-1-i])
	}
}

// readSelf calls process_vm_readv with the two iovecs at rsp. The process is named, or, where its first thread has ended and nothing
// can be read by its number, the thread itself.
func (g *generator) readSelf() {
	if g.env.PID == 0 {
		g.ownThread()
		g.copyMemory()
		return
	}
	g.MovImm32(x86.RDI, uint32(g.env.PID))
	g.copyMemory()
	g.CmpRI(x86.RAX, -esrch)
	back := g.NewLabel()
	g.JccNear(x86.CondE, g.outOfLine(func() {
		g.ownThread()
		g.copyMemory()
		g.JmpNear(back)
	}))
	g.Bind(back)
}

// ownThread leaves the number of the thread in rdi.
func (g *generator) ownThread() {
	g.MovImm32(x86.RAX, sysGettid)
	g.Syscall()
	g.MovRR(x86.RDI, x86.RAX)
}

// copyMemory makes the call for what rdi names.
func (g *generator) copyMemory() {
	g.MovRR(x86.RSI, x86.RSP)
	g.MovImm32(x86.RDX, 1)
	g.Lea(x86.R10, x86.RSP, iovecs/2)
	g.MovImm32(x86.R8, 1)
	g.MovImm32(x86.R9, 0)
	g.MovImm32(x86.RAX, sysProcessVMReadv)
	g.Syscall()
}

// loaded leaves the number that was read in rax, or 0.
func (g *generator) loaded(e *Expr) {
	over := g.NewLabel()
	g.CmpRI(x86.RAX, int32(e.Size))
	g.MovImm32(x86.RAX, 0)
	g.Jcc(x86.CondNE, over)
	g.MovSizedRM(x86.RAX, x86.RSP, iovecs, int(e.Size), e.Signed)
	g.Bind(over)
}

// matched leaves 1 in rax if what was read is the text, else 0.
func (g *generator) matched(e *Expr) {
	over := g.NewLabel()
	g.CmpRI(x86.RAX, int32(len(e.Text)))
	g.MovImm32(x86.RAX, 0)
	g.JccNear(x86.CondNE, over)
	g.compareText(e.Text, over)
	g.MovImm32(x86.RAX, 1)
	g.Bind(over)
}

// compareText leaves for differs if what was read does not begin with a text.
func (g *generator) compareText(text string, differs x86.Label) {
	for at, rest := 0, []byte(text); len(rest) > 0; {
		n := pieceOf(len(rest))
		g.comparePiece(rest[:n], int32(iovecs+at))
		g.JccNear(x86.CondNE, differs)
		at, rest = at+n, rest[n:]
	}
}

// pieceOf is how many of n bytes are compared at once: 8, 4, 2 or 1.
func pieceOf(n int) int {
	for _, size := range []int{8, 4, 2} {
		if n >= size {
			return size
		}
	}
	return 1
}

// comparePiece compares the bytes at rsp+disp with those of a piece, by way of rdx.
func (g *generator) comparePiece(piece []byte, disp int32) {
	var word [8]byte
	copy(word[:], piece)
	want := binary.LittleEndian.Uint64(word[:])
	if len(piece) == 8 {
		g.MovImm64(x86.RDX, want)
		g.CmpMR(x86.RSP, disp, x86.RDX)
		return
	}
	g.MovSizedRM(x86.RDX, x86.RSP, disp, len(piece), false)
	g.CmpRI32(x86.RDX, int32(uint32(want)))
}
