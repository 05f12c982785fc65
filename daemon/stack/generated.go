package stack

import (
	"culprit/daemon/arch"
	"culprit/daemon/image/unwind"
)

// Code that a program generates has no tables that tell of its frames. V8 gives each of its functions a frame pointer, and HotSpot does with
// -XX:+PreserveFramePointer. V8's built-in functions, which are called from there and call there, are in a file, have frame pointers, and no
// tables either. Only samples are followed in this way: a frame pointer is believed, and may be none.

// maxGeneratedFrame is the largest frame that is believed of generated code, in bytes.
const maxGeneratedFrame = 1 << 20

// generated finds the caller of code without tables by the frame pointer: of generated code, and of code in a file that generated code has
// called. It finds nothing unless the program names what it generates: a frame without a name would be no news.
func (s *Walker) generated(r unwind.Regs, mem Reader) (caller unwind.Regs, cfa uint64, ok bool) {
	if !s.Code.Generates() || r.Lost&(1<<arch.RBP) != 0 || r.RBP < r.RSP || r.RBP-r.RSP > maxGeneratedFrame || r.RBP%8 != 0 {
		return caller, 0, false
	}
	if caller, cfa, ok = callerAt(r, mem, r.RBP+8); !ok {
		return caller, 0, false
	}
	inFile := s.Code.ObjectAt(caller.LookupPC()) != nil
	if s.Code.ObjectAt(r.LookupPC()) != nil { // hand-written code may use the register for anything
		return caller, cfa, !inFile && s.isGenerated(caller.LookupPC())
	}
	return caller, cfa, inFile || s.isGenerated(caller.LookupPC())
}

// isGenerated reports whether the program has named the code at an address among that which it generates.
func (s *Walker) isGenerated(addr uint64) bool {
	f := s.Code.FunctionAt(addr)
	return f != nil && f.Generated()
}
