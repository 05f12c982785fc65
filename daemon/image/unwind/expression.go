package unwind

import (
	"github.com/go-delve/delve/pkg/dwarf/op"

	"culprit/daemon/image/elffile"
)

// An Activation is what is known of one frame of a stack.
type Activation struct {
	Regs Regs   // of the process
	CFA  uint64 // canonical frame address
	Bias uint64 // of the object
	// Mem reads 8 bytes of the process.
	Mem func(addr uint64) (uint64, error)
}

// Locate runs a location expression of DWARF in a frame: it gives a value that is in a register, or that is computed, or an address in
// memory. ok is false where the expression cannot be run, or gives something else.
func Locate(expr []byte, a Activation, frameBase int64) (v uint64, memory, ok bool) {
	if !simple(expr) {
		return 0, false, false
	}
	u := unwinder{regs: a.Regs, bias: a.Bias, mem: a.Mem}
	addr, pieces, err := u.run(expr, a.CFA, frameBase)
	switch {
	case err != nil || len(pieces) > 1:
		return 0, false, false
	case len(pieces) == 0:
		return uint64(addr), true, true
	case pieces[0].Kind == op.RegPiece:
		v, err := u.reg(pieces[0].Val)
		return v, false, err == nil
	case pieces[0].Kind == op.ImmPiece && pieces[0].Bytes == nil:
		return pieces[0].Val, false, true
	}
	return 0, false, false
}

// maxExpression bounds an expression in bytes. Compilers write some dozens.
const maxExpression = 4096

// Operands of DWARF operations.
const (
	unsigned = -1 // LEB128
	signed   = -2
)

// operands are the sizes of what follows an operation, for those that are run; other operations without operands are not listed.
var operands = map[byte][]int{
	0x03: {8}, 0x08: {1}, 0x09: {1}, 0x0a: {2}, 0x0b: {2}, 0x0c: {4}, 0x0d: {4}, 0x0e: {8}, 0x0f: {8}, 0x10: {unsigned}, 0x11: {signed}, // addr, const*
	0x15: {1}, 0x23: {unsigned}, 0x90: {unsigned}, 0x91: {signed}, 0x92: {unsigned, signed}, 0x93: {unsigned}, 0x94: {1}, // pick, plus_uconst, regx, fbreg, bregx, piece, deref_size
}

// simple reports whether an expression may be run (DWARF 5, section 2.5): it ends, and asks for no memory. One with a jump may run as long as
// it likes, which would be while the target stands still, and an implicit value or what holds other expressions is as large as it claims.
func simple(expr []byte) bool {
	if len(expr) > maxExpression {
		return false
	}
	for r := (elffile.Reader{Rest: expr}); len(r.Rest) > 0; {
		code := r.Byte()
		kinds, known := operands[code]
		switch {
		case known:
		case code == 0x06, code >= 0x12 && code <= 0x22 && code != 0x18, code >= 0x24 && code <= 0x2e && code != 0x28, code == 0x96, code == 0x9c, code == 0x9f:
			// deref; dup to plus; shl to ne, without bra; nop, call_frame_cfa, stack_value
		case code >= 0x30 && code <= 0x6f: // lit, reg
		case code >= 0x70 && code <= 0x8f: // breg
			kinds = []int{signed}
		default:
			return false
		}
		for _, k := range kinds {
			switch k {
			case unsigned:
				r.ULEB()
			case signed:
				r.SLEB()
			default:
				r.Take(k)
			}
		}
		if r.Bad {
			return false
		}
	}
	return true
}
