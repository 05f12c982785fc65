// Package disasm writes machine code as text, for people who want to read a trampoline. What the rest of culprit must know of an
// instruction it learns from package x86.
//
// It imports nothing of the house, and its functions may be called from any goroutine.
package disasm

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// An Inst is one instruction at its address.
type Inst struct {
	Addr  uint64
	Bytes []byte
	Text  string // in the notation of the GNU tools
}

// List writes code that lies at an address. What the disassembler does not know is a line of one byte, "(bad)".
func List(code []byte, at uint64) (out []Inst) {
	for len(code) > 0 {
		in, err := x86asm.Decode(code, 64)
		text, n := "(bad)", 1
		if err == nil && in.Len > 0 {
			text, n = withAddress(in, x86asm.GNUSyntax(in, at, nil)), in.Len
		}
		out = append(out, Inst{at, slices.Clone(code[:n]), text})
		code, at = code[n:], at+uint64(n)
	}
	return out
}

// withAddress completes the text of an instruction that reads or writes an address without registers, such as %fs:0x0: the package
// leaves out an address of 0, and writes one below it with 32 bits.
func withAddress(in x86asm.Inst, text string) string {
	for _, a := range in.Args {
		m, ok := a.(x86asm.Mem)
		if !ok || m.Base != 0 || m.Index != 0 || m.Disp > math.MaxUint32 {
			continue
		}
		bare, full := "", fmt.Sprintf("%#x", uint64(int32(m.Disp)))
		if m.Disp != 0 {
			bare = fmt.Sprintf("%#x", uint32(m.Disp))
		}
		switch {
		case m.Segment != 0:
			segment := "%" + strings.ToLower(m.Segment.String()) + ":"
			return strings.Replace(text, segment+bare, segment+full, 1)
		case bare == "" && strings.HasSuffix(text, ","):
			return text + "0x0"
		case bare == "":
			return strings.Replace(text, " ,", " 0x0,", 1)
		}
	}
	return text
}
