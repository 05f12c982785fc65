package x86

// Touches reports whether an instruction may read or write r, which must be one of R8 to R15 (no instruction uses those without naming
// them), and whether it writes all of r and does not read it. code begins with the instruction's bytes. What is not known touches r.
func (in *Inst) Touches(r Reg, code []byte) (touches, overwrites bool) {
	if in.Flow == FlowSyscall || in.Opcode>>8 > map0F || in.Len > len(code) {
		return true, false
	}
	if read, written, ok := in.regUse(code); ok {
		return read.Has(r) || written.Has(r), written.Has(r) && !read.Has(r)
	}
	if in.HasModRM {
		mem, rm, reg := in.operands(code)
		return (mem | rm | reg).Has(r), false
	}
	if in.Direct() || in.Flow == FlowRet {
		return false, false
	}
	return Reg(in.Opcode&7)|Reg(in.Prefix&PrefixRexB/PrefixRexB)<<3 == r, false // some name a register in these bits, with others they are lower than 8
}
