package x86

import "errors"

// What finds the place of a value in a table: the highest bit, a shift by a register, and addresses with an index.

var errNoIndex = errors.New("x86: the stack pointer is no index")

// OrRI emits dst |= v, sign-extended.
func (a *Asm) OrRI(dst Reg, v int32) { a.aluRI(1, dst, v) }

// ShrRCL emits dst >>= cl without sign; the lowest six bits of cl count.
func (a *Asm) ShrRCL(dst Reg) { a.rr(0xD3, 5, dst) }

// Bsr emits dst = the number, from 0, of the highest bit that is set in src; dst is undefined if there is none.
func (a *Asm) Bsr(dst, src Reg) {
	a.Raw(0x48|rexRB(dst, src), 0x0F, 0xBD, 0xC0|byte(dst&7)<<3|byte(src&7))
}

// XchgRR swaps two registers.
func (a *Asm) XchgRR(x, y Reg) { a.rr(0x87, y, x) }

// LeaIndex emits dst = base + 4*index + disp. The index is not rsp.
func (a *Asm) LeaIndex(dst, base, index Reg, disp int8) {
	a.Raw(0x48|a.rexX(base, index)|rexRB(dst, 0), 0x8D, 0x44|byte(dst&7)<<3, 0x80|byte(index&7)<<3|byte(base&7), byte(disp))
}

// IncIndexM increments the word at base + 8*index + disp. The index is not rsp.
func (a *Asm) IncIndexM(base, index Reg, disp int32) {
	a.Raw(0x48|a.rexX(base, index), 0xFF, 0x84, 0xC0|byte(index&7)<<3|byte(base&7))
	a.imm32(uint32(disp))
}

// rexX returns the X and B bits of a REX prefix for an index and a base.
func (a *Asm) rexX(base, index Reg) byte {
	if index == RSP {
		a.fail(errNoIndex)
	}
	return byte(index>>3)<<1 | byte(base>>3)
}
