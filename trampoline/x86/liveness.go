package x86

// What is dead at a place in the code: overwritten on the way that control goes on, before anything reads it. Proven for
// straight lines only, with the few instructions that compilers put into prologues and loops; everything else keeps all alive.

// A RegSet is a set of general registers: bit n is register n.
type RegSet uint16

// Has reports whether r is in the set.
func (s RegSet) Has(r Reg) bool { return s>>r&1 != 0 }

// maxLook is how many instructions are looked at.
const maxLook = 12

// Dead reports which general registers, and whether the arithmetic flags (CF, PF, AF, ZF, SF, OF), are dead before insts[0]; code
// are the bytes from there on. Flags are dead at calls and returns, registers never: a caller may know what its callee keeps.
func Dead(insts []Inst, code []byte) (regs RegSet, flags bool) {
	var read RegSet
	flagsOpen, regsOpen := true, true
	for i := range insts {
		in := &insts[i]
		if i == maxLook || in.Len > len(code) || !flagsOpen && !regsOpen {
			break
		}
		if flagsOpen {
			switch in.flagUse() {
			case flagsWritten:
				flags, flagsOpen = true, false
			case flagsRead:
				flagsOpen = false
			}
		}
		if regsOpen {
			r, w, ok := in.regUse(code)
			if !ok {
				regsOpen = false
			} else {
				read |= r
				regs |= w &^ read
			}
		}
		if in.Flow != FlowNext || i+1 < len(insts) && insts[i+1].Addr != in.End() {
			break
		}
		code = code[in.Len:]
	}
	return regs, flags
}

// flagUse says what an instruction does with the arithmetic flags.
type flagUse uint8

const (
	flagsRead    flagUse = iota // reads some, or is not known
	flagsKept                   // reads none and does not write all
	flagsWritten                // writes all and reads none (a call or return counts as such)
)

func (in *Inst) flagUse() flagUse {
	if in.Flow == FlowCall || in.Flow == FlowCallInd || in.Flow == FlowRet {
		return flagsWritten
	}
	if in.Flow != FlowNext {
		return flagsRead
	}
	if in.Endbr {
		return flagsKept
	}
	op, group := byte(in.Opcode), in.ModRM>>3&7
	switch in.Opcode >> 8 {
	case mapLegacy:
		return flagsLegacy(op, group)
	case map0F:
		return flags0F(op)
	case mapVEX | map0F:
		if op == 0x2E || op == 0x2F { // vucomis, vcomis
			return flagsWritten
		}
		return flagsKept
	case mapVEX | map0F38, mapVEX | map0F3A:
		return flagsKept
	}
	return flagsRead
}

// flagsLegacy is for the one-byte map.
func flagsLegacy(op, group byte) flagUse {
	switch {
	case op < 0x40 && op&7 < 6: // add or adc sbb and sub xor cmp
		return arithmetic(op >> 3 & 7)
	case op == 0x80, op == 0x81, op == 0x83:
		return arithmetic(group)
	case op == 0x84, op == 0x85, op == 0xA8, op == 0xA9: // test
		return flagsWritten
	case op == 0xF6, op == 0xF7: // test test not neg mul imul div idiv
		return [8]flagUse{flagsWritten, flagsWritten, flagsKept, flagsWritten, flagsKept, flagsKept, flagsKept, flagsKept}[group]
	case op >= 0x50 && op <= 0x5F, op == 0x63, op == 0x68, op == 0x6A, op == 0x69, op == 0x6B, // push pop movsxd imul
		op >= 0x86 && op <= 0x8D, op == 0x90, op == 0x98, op == 0x99, op >= 0xB0 && op <= 0xBF, op == 0xC6, op == 0xC7, op == 0xC9: // xchg mov lea nop cltq cqto leave
		return flagsKept
	case op == 0xFE, op == 0xFF && (group < 2 || group == 6): // inc dec push: the carry stays
		return flagsKept
	case (op == 0xC0 || op == 0xC1 || op >= 0xD0 && op <= 0xD3) && group != 2 && group != 3: // shifts by nothing change no flag; rcl and rcr read
		return flagsKept
	}
	return flagsRead
}

// arithmetic is for the eight operations of group 1: adc and sbb read the carry.
func arithmetic(n byte) flagUse {
	if n == 2 || n == 3 {
		return flagsRead
	}
	return flagsWritten
}

// flags0F is for the two-byte map.
func flags0F(op byte) flagUse {
	switch {
	case op == 0x2E, op == 0x2F: // ucomis, comis
		return flagsWritten
	case op >= 0x10 && op <= 0x17, op == 0x18, op == 0x1F, op >= 0x28 && op <= 0x2D, op >= 0x50 && op <= 0x76, op >= 0x7C && op <= 0x7F,
		op == 0xAF, op == 0xB6, op == 0xB7, op == 0xBE, op == 0xBF, op >= 0xC4 && op <= 0xC6, op >= 0xC8 && op <= 0xFE:
		return flagsKept
	}
	return flagsRead
}

// regUse gives the general registers that an instruction reads, and those of which it writes all 64 bits; ok is false where
// that is not known. code begins with its bytes.
func (in *Inst) regUse(code []byte) (read, written RegSet, ok bool) {
	const others = PrefixOpSize | PrefixAddrSize | PrefixLock | PrefixRepne | PrefixRep | PrefixSegFS | PrefixSegGS
	if in.Endbr || in.Nop {
		return 0, 0, true
	}
	if in.Flow != FlowNext || in.Prefix&others != 0 || in.Opcode>>8 > map0F {
		return 0, 0, false
	}
	if in.HasModRM {
		return in.modrmUse(code)
	}
	op := byte(in.Opcode)
	r := RegSet(1) << (op&7 | byte(in.Prefix&PrefixRexB/PrefixRexB)<<3)
	switch {
	case in.Opcode >= 0x50 && in.Opcode <= 0x57:
		return r | 1<<RSP, 0, true
	case in.Opcode >= 0x58 && in.Opcode <= 0x5F:
		return 1 << RSP, r, true
	case in.Opcode >= 0xB8 && in.Opcode <= 0xBF:
		return 0, r, true
	}
	return 0, 0, false
}

// modrmUse is regUse for an instruction with a ModRM byte.
func (in *Inst) modrmUse(code []byte) (read, written RegSet, ok bool) {
	mem, rm, reg := in.operands(code)
	isReg := mem == 0 && in.ModRM>>6 == 3
	switch in.Opcode {
	case 0x89: // mov reg, r/m
		return mem | reg, rm, true
	case 0x8B, 0x63, 0x1B6, 0x1B7, 0x1BE, 0x1BF: // mov, movsxd, movzx, movsx
		return mem | rm, reg, true
	case 0x8D:
		return mem, reg, true
	case 0xC7:
		return mem, rm, in.ModRM>>3&7 == 0
	case 0x31, 0x33, 0x29, 0x2B:
		if isReg && rm == reg { // the idiom for zero
			return 0, reg, true
		}
		return mem | rm | reg, 0, true
	case 0x01, 0x03, 0x09, 0x0B, 0x21, 0x23, 0x39, 0x3B, 0x85, 0x1AF:
		return mem | rm | reg, 0, true
	case 0x81, 0x83:
		return mem | rm, 0, true
	}
	return 0, 0, false
}

// operands gives the registers of the ModRM operand that address memory or, if it is a register, that one, and the other register.
func (in *Inst) operands(code []byte) (mem, rm, reg RegSet) {
	var rex byte
	if in.Prefix&PrefixRex != 0 {
		rex = code[in.OpOff-1]
		if in.Opcode >= 0x100 { // 0F stands between
			rex = code[in.OpOff-2]
		}
	}
	bit := func(low, high byte) RegSet { return 1 << (low&7 | high&1<<3) }
	reg = bit(in.ModRM>>3, rex>>2)
	mod, base := in.ModRM>>6, in.ModRM&7
	if mod == 3 {
		if (in.Opcode == 0x1B6 || in.Opcode == 0x1BE) && in.Prefix&PrefixRex == 0 {
			base &= 3 // ah, ch, dh and bh
		}
		return 0, bit(base, rex), reg
	}
	if base == 4 {
		sib := code[in.OpOff+2]
		if index := bit(sib>>3, rex>>1); index != 1<<RSP {
			mem |= index
		}
		if sib&7 != 5 || mod != 0 {
			mem |= bit(sib, rex)
		}
		return mem, 0, reg
	}
	if base == 5 && mod == 0 {
		return 0, 0, reg // relative to the instruction pointer
	}
	return bit(base, rex), 0, reg
}
