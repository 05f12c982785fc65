package waits

import (
	"fmt"

	"culprit/daemon/arch"
	"culprit/daemon/image/unwind"
	"culprit/daemon/kernel"
	"culprit/daemon/process"
	"culprit/daemon/stack"
)

// A Stack is the stack of a thread that waits, as far as it is known: of a thread that is not stopped the kernel tells two registers.
type Stack struct {
	Regs unwind.Regs
	Mem  stack.Reader
}

// most is how much of the top of a stack is read at once, in bytes, and least when not even that can be read.
const (
	most  = 16 << 10
	least = 512
)

// StackOf reads the top of the stack of a blocked thread.
func StackOf(p *process.Process, call kernel.BlockedCall) Stack {
	buf := make([]byte, most)
	n := len(buf)
	for ; n >= least; n /= 2 {
		if p.ReadMem(process.Addr(call.SP), buf[:n]) == nil {
			break
		}
	}
	r := unwind.Regs{RIP: call.PC, RSP: call.SP, Exact: true, Lost: arch.AllRegisters &^ (1 << arch.RSP)}
	return Stack{r, stack.Cached(call.SP, buf[:n], stack.Words(p))}
}

// Frames are the activations on it, innermost first.
func (s Stack) Frames(w *stack.Walker) []stack.Frame { return w.Walk(s.Regs, s.Mem) }

// manyFrames is how many activations are asked for a variable that leads to a lock.
const manyFrames = 24

// LeadsTo names the lock at an address by the variables of the functions that wait for it: the type and field of an object on the heap with the
// address, which tells one from another ("Queue.lock 0x55d0"), or a variable on a stack. "" if DWARF does not tell.
func (s Stack) LeadsTo(addr uint64, w *stack.Walker) (name string) {
	left := manyFrames
	w.WalkEach(s.Regs, s.Mem, func(fr stack.Frame, regs unwind.Regs) bool {
		if fr.Func == nil || fr.CFA == 0 {
			return true
		}
		a := unwind.Activation{Regs: regs, CFA: fr.CFA, Bias: fr.Func.Obj.Bias, Mem: s.Mem}
		n, heap, ok := fr.Func.Obj.Enclosing(fr.Func.Fn, a, addr)
		if ok && heap {
			n = fmt.Sprintf("%s %#x", n, addr)
		}
		if name = n; !ok {
			name = ""
		}
		left--
		return !ok && left > 0
	})
	return name
}
