package x86

// What code expects of its surroundings that compilers never pass from one function to another, but assembly may.

// Live says what must stay as it is at a place where compilers leave it to everybody.
type Live struct {
	Flags bool // the arithmetic flags
	Below bool // what lies below the stack pointer
}

// MostExpects is how many instructions Expects looks at. Of the entries and of the places behind calls in programs of compilers less than
// 0.3 % have no instruction among so many that writes the flags, and no branch.
const MostExpects = 32

// Expects reports what insts[0] and those behind it read before they write it; code are the bytes from there on. Only what is certain is
// told, which is as far as straight lines of instructions that are known go: so that code of compilers expects nothing. A line that is
// longer than MostExpects may read the flags behind that, and is said to.
func Expects(insts []Inst, code []byte) (live Live) {
	flags, stack := flagsFlow{}, stackFlow{}
	for i := range insts {
		in := &insts[i]
		if i == MostExpects || in.Len > len(code) {
			break
		}
		live.Flags = live.Flags || flags.reads(in, code)
		live.Below = live.Below || stack.reads(in, code)
		live.Flags = live.Flags || i+1 == MostExpects && !flags.over
		if in.Flow != FlowNext || i+1 < len(insts) && insts[i+1].Addr != in.End() {
			break
		}
		code = code[in.Len:]
	}
	return live
}

// LeavesFlags reports whether insts, up to a return behind the last, end by setting the flags for somebody else: by an instruction that
// does nothing else and that none behind it reads.
func LeavesFlags(insts []Inst, code []byte) bool {
	left := false
	var flow flagsFlow
	for i := range insts {
		in := &insts[i]
		if in.Len > len(code) {
			return false
		}
		switch {
		case in.onlySetsFlags():
			left, flow = true, flagsFlow{}
		case left && (flow.reads(in, code) || flow.over):
			left = false
		case in.flagUse() != flagsKept:
			left = false
		}
		code = code[in.Len:]
	}
	return left
}

// onlySetsFlags: cmp, test, bt with a bit's number or register, clc, stc, cmc, sahf.
func (in *Inst) onlySetsFlags() bool {
	op, group := in.Opcode, in.ModRM>>3&7
	switch {
	case op >= 0x38 && op <= 0x3D, op == 0x84, op == 0x85, op == 0xA8, op == 0xA9, op == 0x1A3:
		return true
	case op == 0x80, op == 0x81, op == 0x83:
		return group == 7
	case op == 0xF6, op == 0xF7:
		return group < 2
	case op == 0x1BA:
		return group == 4
	}
	return op == 0xF5 || op == 0xF8 || op == 0xF9 || op == 0x9E
}

// flagsFlow follows the arithmetic flags.
type flagsFlow struct {
	over  bool // all are written, or it is not known
	carry bool // only the carry is as it was
}

// reads takes an instruction, and reports whether it reads a flag that is as it was.
func (f *flagsFlow) reads(in *Inst, code []byte) bool {
	if f.over {
		return false
	}
	carry, others := in.flagsRead(code)
	if carry || others && !f.carry {
		return true
	}
	op := in.Opcode
	switch {
	case (op == 0xFE || op == 0xFF) && in.ModRM>>3&7 < 2: // inc, dec
		f.carry = true
	case in.Flow != FlowNext || in.flagUse() != flagsKept || op >= 0xC0 && op <= 0xC1 || op >= 0xD0 && op <= 0xD3:
		f.over = true
	}
	return false
}

// flagsRead reports whether an instruction certainly reads the carry, and another of the arithmetic flags.
func (in *Inst) flagsRead(code []byte) (carry, others bool) {
	op, group := in.Opcode, in.ModRM>>3&7
	switch {
	case op < 0x40 && op&7 < 6: // adc, sbb
		return op>>4 == 1, false
	case op == 0x80, op == 0x81, op == 0x83, op == 0xC0, op == 0xC1, op >= 0xD0 && op <= 0xD3: // adc, sbb; rcl, rcr
		return group == 2 || group == 3, false
	case op >= 0x70 && op <= 0x7F, op >= 0x140 && op <= 0x14F, op >= 0x180 && op <= 0x19F: // jcc, cmovcc, setcc
		switch Cond(op & 0xF) {
		case CondB, CondAE:
			return true, false
		case CondBE, CondA:
			return true, true
		}
		return false, true
	case op == 0xE0, op == 0xE1: // loopne, loope
		return false, true
	case op == 0x9C, op == 0x9F: // pushf, lahf
		return true, true
	case op == 0x2F6: // adcx, adox
		return in.Prefix&PrefixOpSize != 0, in.Prefix&PrefixRep != 0
	}
	return op == 0xF5, false // cmc
}

// stackFlow follows what lies below the stack pointer as it was at the beginning.
type stackFlow struct {
	over    bool    // it is not known where the stack pointer is
	at      int64   // of the stack pointer, from where it was
	written []int64 // where something was written
}

// mostWritten is how many bytes one instruction may write.
const mostWritten = 64

// reads takes an instruction, and reports whether it reads what lay below the stack pointer at the beginning.
func (s *stackFlow) reads(in *Inst, code []byte) bool {
	if s.over {
		return false
	}
	op := in.Opcode
	if disp, ok := in.onStack(code); ok {
		at := s.at + disp
		switch {
		case op == 0x8D || op == 0xFF && in.ModRM>>3&7 >= 2: // lea; calls, jumps and push
			s.over = true
		case in.stores():
			s.written = append(s.written, at)
		case at < 0 && !s.wrote(at):
			return true
		}
	}
	s.move(in, code)
	return false
}

func (s *stackFlow) wrote(at int64) bool {
	for _, w := range s.written {
		if w-mostWritten < at && at < w+mostWritten {
			return true
		}
	}
	return false
}

// move follows the stack pointer.
func (s *stackFlow) move(in *Inst, code []byte) {
	op := in.Opcode
	switch {
	case in.Flow != FlowNext, in.Prefix&PrefixOpSize != 0 && (op >= 0x50 && op <= 0x5F):
		s.over = true
	case op >= 0x50 && op <= 0x57, op == 0x68, op == 0x6A: // push
		s.at -= 8
		s.written = append(s.written, s.at)
	case op >= 0x58 && op <= 0x5F: // pop
		s.at += 8
		s.over = s.at > 0 || op == 0x5C && in.Prefix&PrefixRexB == 0
	case in.HasModRM && in.ModRM>>6 == 3 && in.ModRM&7 == 4 && in.Prefix&PrefixRexB == 0 && (op == 0x81 || op == 0x83):
		s.addImmediate(in, code)
	case in.HasModRM && in.Opcode < 0x200 && in.mayWriteRSP():
		s.over = true
	case op == 0xC9, op == 0xC8, op == 0x9C, op == 0x9D: // leave, enter, pushf, popf
		s.over = true
	}
}

func (s *stackFlow) addImmediate(in *Inst, code []byte) {
	by := int64(int8(code[in.Len-1]))
	if in.Opcode == 0x81 {
		by = le32(code[in.Len-4:])
	}
	switch {
	case in.Prefix&PrefixRexW == 0:
		s.over = true
	case in.ModRM>>3&7 == 0:
		s.at += by
	case in.ModRM>>3&7 == 5:
		s.at -= by
	case in.ModRM>>3&7 != 7: // cmp
		s.over = true
	}
}

// mayWriteRSP: rsp is one of the registers of an instruction that may write it; vector registers have the same numbers.
func (in *Inst) mayWriteRSP() bool {
	regOperand, rmOperand := in.ModRM>>3&7 == 4, in.ModRM>>6 == 3 && in.ModRM&7 == 4
	switch in.Opcode {
	case 0x89, 0x39, 0x3B, 0x85: // mov from rsp; cmp, test
		return in.Opcode == 0x89 && rmOperand
	case 0x80, 0x81, 0x83, 0xC6, 0xC7, 0xF6, 0xF7, 0xFE, 0xFF, 0xC1, 0xD1, 0xD3:
		return rmOperand
	}
	return regOperand || rmOperand
}

// onStack gives the displacement of an operand in memory that rsp addresses alone.
func (in *Inst) onStack(code []byte) (disp int64, ok bool) {
	mod := in.ModRM >> 6
	if !in.HasModRM || mod == 3 || in.ModRM&7 != 4 || in.Opcode > 0x3FF || in.Nop || in.Prefix&PrefixSegFS != 0 {
		return 0, false
	}
	sib := in.OpOff + 2
	if code[sib] != 0x24 || in.rexB(code) {
		return 0, false
	}
	switch mod {
	case 1:
		return int64(int8(code[sib+1])), true
	case 2:
		return le32(code[sib+1:]), true
	}
	return 0, true
}

// StoresBelow reports whether an instruction writes below the stack pointer; code begins with its bytes.
func (in *Inst) StoresBelow(code []byte) bool {
	disp, ok := in.onStack(code)
	return ok && disp < 0 && in.stores()
}

// stores: it writes its operand in memory and does not read it.
func (in *Inst) stores() bool {
	switch in.Opcode {
	case 0x88, 0x89, 0xC6, 0xC7, 0x111, 0x113, 0x117, 0x129, 0x12B, 0x17F, 0x1D6, 0x1E7, 0x1C3:
		return true
	}
	return in.Opcode >= 0x190 && in.Opcode <= 0x19F || in.Opcode == 0x17E && in.Prefix&PrefixRep == 0 // setcc, movd
}

func le32(b []byte) int64 {
	return int64(int32(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24))
}
