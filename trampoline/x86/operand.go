package x86

import "fmt"

// rexRB returns the R and B bits of a REX prefix for a register in ModRM.reg and one in ModRM.rm.
func rexRB(reg, rm Reg) byte { return byte(reg>>3)<<2 | byte(rm>>3) }

// rexB emits a REX prefix only if r needs one.
func (a *Asm) rexB(r Reg) {
	if r >= R8 {
		a.Raw(0x41)
	}
}

// rexByte emits the REX prefix for a byte register in ModRM.rm: spl, bpl, sil and dil exist only with one.
func (a *Asm) rexByte(reg, rm Reg) {
	if rex := rexRB(reg, rm); rex != 0 || rm >= RSP {
		a.Raw(0x40 | rex)
	}
}

// lock emits the lock prefix.
func (a *Asm) lock() { a.Raw(0xF0) }

// short emits a one-byte opcode that holds the register.
func (a *Asm) short(op byte, r Reg) {
	a.rexB(r)
	a.Raw(op | byte(r&7))
}

// rr emits REX.W op with two registers.
func (a *Asm) rr(op byte, reg, rm Reg) {
	a.Raw(0x48|rexRB(reg, rm), op, 0xC0|byte(reg&7)<<3|byte(rm&7))
}

// rm emits REX.W op with a register (or a group's number) and [base+disp].
func (a *Asm) rm(op byte, reg, base Reg, disp int32) {
	a.Raw(0x48|rexRB(reg, base), op)
	a.mem(reg, base, disp)
}

// rm0F is rm for the 0F map.
func (a *Asm) rm0F(op byte, reg, base Reg, disp int32) {
	a.Raw(0x48|rexRB(reg, base), 0x0F, op)
	a.mem(reg, base, disp)
}

// mem emits ModRM, SIB and displacement of [base+disp]. rsp and r12 need a SIB; rbp and r13 have no form without displacement.
func (a *Asm) mem(reg, base Reg, disp int32) {
	mod, small := byte(0x80), disp == int32(int8(disp))
	switch {
	case disp == 0 && base&7 != RBP:
		mod = 0
	case small:
		mod = 0x40
	}
	a.Raw(mod | byte(reg&7)<<3 | byte(base&7))
	if base&7 == RSP {
		a.Raw(0x24)
	}
	switch mod {
	case 0x40:
		a.Raw(byte(disp))
	case 0x80:
		a.imm32(uint32(disp))
	}
}

// fs emits REX.W op with a register and the absolute %fs:disp.
func (a *Asm) fs(op byte, reg Reg, disp int32) {
	a.Raw(0x64, 0x48|rexRB(reg, 0), op, 0x04|byte(reg&7)<<3, 0x25)
	a.imm32(uint32(disp))
}

// immForm emits opcode 83 with an 8-bit or 81 with a 32-bit immediate; body emits opcode and operands.
func (a *Asm) immForm(v int32, body func(op byte)) {
	if v == int32(int8(v)) {
		body(0x83)
		a.Raw(byte(v))
		return
	}
	body(0x81)
	a.imm32(uint32(v))
}

// aluRI emits group 1 number n on a register.
func (a *Asm) aluRI(n, dst Reg, v int32) {
	a.immForm(v, func(op byte) { a.rr(op, n, dst) })
}

// aluMI emits group 1 number n on [base+disp].
func (a *Asm) aluMI(n, base Reg, disp, v int32) {
	a.immForm(v, func(op byte) { a.rm(op, n, base, disp) })
}

// shift emits group 2 number n with an immediate count.
func (a *Asm) shift(n, dst Reg, count uint8) {
	if count > 63 {
		a.fail(fmt.Errorf("x86: shift by %d: 0 to 63 bits are possible", count))
	}
	a.rr(0xC1, n, dst)
	a.Raw(count)
}
