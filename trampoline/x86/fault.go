package x86

// Which instructions may fault in a way that the program itself could recover from: by an operand in memory that is not on the stack
// and not a fixed place of its own data, or by a division.

// A Fault is a set of signals that an instruction may bring about.
type Fault uint8

// The signals. A bad address gives SIGSEGV or SIGBUS, a division SIGFPE.
const (
	FaultMemory Fault = 1 << iota
	FaultDivide
)

// MayFault tells how an instruction may fault where the program, not a defect of it, may have meant it to: code begins with its bytes.
// Operands on the stack (rsp, rbp as base), in the thread's own block (fs) and at an address relative to the instruction are taken
// for such as are there, and so is what only computes an address, or tells the processor that one will be needed.
func (in *Inst) MayFault(code []byte) (f Fault) {
	if in.divides() {
		f |= FaultDivide
	}
	if in.readsMemory(code) {
		f |= FaultMemory
	}
	return f
}

func (in *Inst) divides() bool {
	group := in.ModRM >> 3 & 7
	return in.HasModRM && (in.Opcode == 0xF6 || in.Opcode == 0xF7) && group >= 6
}

// readsMemory reports whether an instruction reads or writes memory whose address a register holds that is not the stack's.
func (in *Inst) readsMemory(code []byte) bool {
	switch op := in.Opcode; {
	case in.Nop, in.Endbr, op == 0x8D: // lea
		return false
	case op >= 0xA4 && op <= 0xA7, op >= 0xAA && op <= 0xAF: // string instructions
		return true
	case op >= 0xA0 && op <= 0xA3, op == 0xD7: // mov of a fixed address of 64 bits, xlat
		return true
	case op >= 0x118 && op <= 0x11F, op == 0x10D: // prefetches and the nops with an operand
		return false
	case op&0xFF == 0xF7 && op>>8&0x0F == map0F: // maskmov: the operand is where rdi points
		return true
	}
	if !in.HasModRM || in.ModRM>>6 == 3 || in.RIPOff != 0 || in.Prefix&PrefixSegFS != 0 {
		return false
	}
	base := in.ModRM & 7
	if base != 4 {
		return base != 5 || in.rexB(code)
	}
	at := in.OpOff + 2
	if at >= len(code) {
		return true
	}
	base = code[at] & 7
	return base != 4 && (base != 5 || in.ModRM>>6 == 0) || in.rexB(code)
}

// rexB reports whether the base register is one of the upper eight; true where that would have to be decoded again (VEX, EVEX, XOP).
func (in *Inst) rexB(code []byte) bool {
	if in.Opcode > 0x3FF {
		return true
	}
	if in.Prefix&PrefixRex == 0 {
		return false
	}
	escape := [...]int{mapLegacy: 0, map0F: 1, map0F38: 2, map0F3A: 2}[in.Opcode>>8]
	return code[in.OpOff-1-escape]&1 != 0
}
