package stack

import (
	"culprit/daemon/arch"
	"culprit/daemon/image/unwind"
	"culprit/daemon/program"
)

// Where a sample does not have the register that a frame's tables ask for, the caller is guessed. Of a blocked thread only the stack
// pointer is known, and functions with a frame pointer (Rust's standard library has them) are found by what it was when they began.
// Only for samples; a frame that the tables describe is never guessed.

// guessWords is how many words of the stack are looked through.
const guessWords = 512

// guess finds the caller of a function: where a call of the very function comes back to, or, if no such address is on the stack, the first
// pair of a frame pointer and an address behind a call that is not known to call something else. f is nil where the function is not known, or
// may not be asked for.
func (s *Walker) guess(r unwind.Regs, f *program.Function, mem Reader, code codeReader) (caller unwind.Regs, cfa uint64, ok bool) {
	if r.Lost == 0 {
		f = nil // nothing that was asked for is lost: nobody may wait for functions to be decoded
	}
	called, pair := uint64(0), uint64(0)
	for a := r.RSP &^ 7; a < r.RSP+8*guessWords && called == 0; a += 8 {
		ret, err := mem(a)
		if err != nil {
			break
		}
		if !s.behindCall(ret, code) {
			continue
		}
		var to *program.Function
		if f != nil {
			to = s.calledBefore(ret)
		}
		switch {
		case to != nil && (to == f || jumpsTo(s.Code, to, f, 0)):
			called = a
		case pair == 0 && a > r.RSP && to == nil && framePointer(mem, a-8):
			pair = a
		}
	}
	at := called
	if at == 0 || pair != 0 && pair < at {
		at = pair
	}
	if at == 0 {
		return caller, 0, false
	}
	return callerAt(r, mem, at)
}

// framePointer reports whether a word may be one: it points a little further up.
func framePointer(mem Reader, a uint64) bool {
	bp, err := mem(a)
	return err == nil && bp > a && bp < a+1<<20 && bp%8 == 0
}

// callerAt are the registers of the caller whose return address lies at an address; the word below it is its frame pointer, or whatever it
// had in that register.
func callerAt(r unwind.Regs, mem Reader, a uint64) (caller unwind.Regs, cfa uint64, ok bool) {
	ret, err := mem(a)
	if err != nil {
		return caller, 0, false
	}
	caller = r
	caller.RIP, caller.RSP, caller.Exact = ret, a+8, false
	caller.Lost = arch.AllRegisters &^ (1 << arch.RSP)
	if bp, err := mem(a - 8); err == nil && a > r.RSP {
		caller.RBP = bp
		caller.Lost &^= 1 << arch.RBP
	}
	return caller, a + 8, true
}

// calledBefore is the function that the call before a return address names; nil if that is not known, as of indirect calls.
func (s *Walker) calledBefore(ret uint64) *program.Function {
	h := s.Code.FunctionAt(ret - 1)
	if h == nil {
		return nil
	}
	w := h.Flow()
	if w == nil {
		return nil
	}
	for _, c := range w.Calls {
		if c.Ret+h.Obj.Bias == ret {
			return s.Code.Callee(h.Obj, c)
		}
	}
	return nil
}
