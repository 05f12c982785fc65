package x86

// A Reg is a general register by its number in the encoding.
type Reg uint8

// The general registers.
const (
	RAX Reg = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
)

var regNames = [...]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// String returns the name of the 64-bit register.
func (r Reg) String() string {
	if int(r) < len(regNames) {
		return regNames[r]
	}
	return "reg?"
}

// A Cond is a condition code as jcc and setcc encode it; c^1 is its opposite.
type Cond uint8

// The conditions. B, BE, A and AE compare unsigned, L, LE, G and GE signed.
const (
	CondO Cond = iota
	CondNO
	CondB
	CondAE
	CondE
	CondNE
	CondBE
	CondA
	CondS
	CondNS
	CondP
	CondNP
	CondL
	CondGE
	CondLE
	CondG
)

// The names of the methods say the operands, destination first: R a 64-bit register, M the memory at [base+disp], I an
// immediate (sign-extended unless said otherwise). The shortest encoding of the displacement is taken.

// Push emits push r.
func (a *Asm) Push(r Reg) { a.short(0x50, r) }

// Pop emits pop r.
func (a *Asm) Pop(r Reg) { a.short(0x58, r) }

// MovRR emits dst = src.
func (a *Asm) MovRR(dst, src Reg) { a.rr(0x89, src, dst) }

// MovRM emits dst = [base+disp].
func (a *Asm) MovRM(dst, base Reg, disp int32) { a.rm(0x8B, dst, base, disp) }

// MovMR emits [base+disp] = src.
func (a *Asm) MovMR(base Reg, disp int32, src Reg) { a.rm(0x89, src, base, disp) }

// MovMR8 emits [base+disp] = the low byte of src.
func (a *Asm) MovMR8(base Reg, disp int32, src Reg) {
	if rex := rexRB(src, base); rex != 0 || src >= RSP { // spl, bpl, sil and dil exist only with REX
		a.Raw(0x40 | rex)
	}
	a.Raw(0x88)
	a.mem(src, base, disp)
}

// MovFS emits dst = %fs:disp; with disp 0 the thread pointer of the x86-64 ABI.
func (a *Asm) MovFS(dst Reg, disp int32) { a.fs(0x8B, dst, disp) }

// MovImm64 emits dst = v by movabs, always 10 bytes.
func (a *Asm) MovImm64(dst Reg, v uint64) {
	a.Raw(0x48|rexRB(0, dst), 0xB8|byte(dst&7))
	a.imm64(v)
}

// MovImm32 emits dst = v, zero-extended.
func (a *Asm) MovImm32(dst Reg, v uint32) {
	a.rexB(dst)
	a.Raw(0xB8 | byte(dst&7))
	a.imm32(v)
}

// MovMI emits the 64-bit store [base+disp] = v.
func (a *Asm) MovMI(base Reg, disp, v int32) {
	a.rm(0xC7, 0, base, disp)
	a.imm32(uint32(v))
}

// Lea emits dst = base+disp; flags stay.
func (a *Asm) Lea(dst, base Reg, disp int32) { a.rm(0x8D, dst, base, disp) }

// LeaRIP emits dst = address of the label.
func (a *Asm) LeaRIP(dst Reg, l Label) {
	a.Raw(0x48|rexRB(dst, 0), 0x8D, 0x05|byte(dst&7)<<3)
	a.refLabel(l, 4)
}

// LeaAddr emits dst = addr, RIP-relative.
func (a *Asm) LeaAddr(dst Reg, addr uint64) {
	a.Raw(0x48|rexRB(dst, 0), 0x8D, 0x05|byte(dst&7)<<3)
	a.refAddr(addr)
}

// AddAddr emits add addr(%rip), dst.
func (a *Asm) AddAddr(dst Reg, addr uint64) {
	a.Raw(0x48|rexRB(dst, 0), 0x03, 0x05|byte(dst&7)<<3)
	a.refAddr(addr)
}

// CmpAddrR compares the 64-bit word at an absolute address with x.
func (a *Asm) CmpAddrR(addr uint64, x Reg) {
	a.Raw(0x48|rexRB(x, 0), 0x39, 0x05|byte(x&7)<<3)
	a.refAddr(addr)
}

// IncM emits [base+disp]++, 64 bits.
func (a *Asm) IncM(base Reg, disp int32) { a.rm(0xFF, 0, base, disp) }

// LockXaddMR emits the atomic exchange-and-add: [base+disp] += src, src = what was there.
func (a *Asm) LockXaddMR(base Reg, disp int32, src Reg) { a.lock(); a.rm0F(0xC1, src, base, disp) }

// LockCmpxchgMR emits the atomic compare-and-exchange: if [base+disp] == rax then it becomes src and ZF is set, else rax = it.
func (a *Asm) LockCmpxchgMR(base Reg, disp int32, src Reg) { a.lock(); a.rm0F(0xB1, src, base, disp) }

// AddMR emits [base+disp] += src.
func (a *Asm) AddMR(base Reg, disp int32, src Reg) { a.rm(0x01, src, base, disp) }

// AddMI emits [base+disp] += v, 64 bits.
func (a *Asm) AddMI(base Reg, disp, v int32) { a.aluMI(0, base, disp, v) }

// CmpMI compares [base+disp] (64 bits) with v.
func (a *Asm) CmpMI(base Reg, disp, v int32) { a.aluMI(7, base, disp, v) }

// AddRR emits dst += src.
func (a *Asm) AddRR(dst, src Reg) { a.rr(0x01, src, dst) }

// SubRR emits dst -= src.
func (a *Asm) SubRR(dst, src Reg) { a.rr(0x29, src, dst) }

// OrRR emits dst |= src.
func (a *Asm) OrRR(dst, src Reg) { a.rr(0x09, src, dst) }

// AndRR emits dst &= src.
func (a *Asm) AndRR(dst, src Reg) { a.rr(0x21, src, dst) }

// XorRR emits dst ^= src.
func (a *Asm) XorRR(dst, src Reg) { a.rr(0x31, src, dst) }

// XorFS emits dst ^= %fs:disp.
func (a *Asm) XorFS(dst Reg, disp int32) { a.fs(0x33, dst, disp) }

// CmpRR compares x with y.
func (a *Asm) CmpRR(x, y Reg) { a.rr(0x39, y, x) }

// TestRR sets the flags of x & y.
func (a *Asm) TestRR(x, y Reg) { a.rr(0x85, y, x) }

// AddRI emits dst += v.
func (a *Asm) AddRI(dst Reg, v int32) { a.aluRI(0, dst, v) }

// SubRI emits dst -= v.
func (a *Asm) SubRI(dst Reg, v int32) { a.aluRI(5, dst, v) }

// AndRI emits dst &= v.
func (a *Asm) AndRI(dst Reg, v int32) { a.aluRI(4, dst, v) }

// CmpRI compares x with v.
func (a *Asm) CmpRI(x Reg, v int32) { a.aluRI(7, x, v) }

// CmpRI32 compares the low 32 bits of x with v.
func (a *Asm) CmpRI32(x Reg, v int32) {
	a.rexB(x)
	a.immForm(v, func(op byte) { a.Raw(op, 0xC0|7<<3|byte(x&7)) })
}

// AddRM emits dst += [base+disp].
func (a *Asm) AddRM(dst, base Reg, disp int32) { a.rm(0x03, dst, base, disp) }

// SubRM emits dst -= [base+disp].
func (a *Asm) SubRM(dst, base Reg, disp int32) { a.rm(0x2B, dst, base, disp) }

// CmpMR compares [base+disp] with y.
func (a *Asm) CmpMR(base Reg, disp int32, y Reg) { a.rm(0x39, y, base, disp) }

// CmpFS compares x with %fs:disp.
func (a *Asm) CmpFS(x Reg, disp int32) { a.fs(0x3B, x, disp) }

// ImulRR emits dst *= src.
func (a *Asm) ImulRR(dst, src Reg) {
	a.Raw(0x48|rexRB(dst, src), 0x0F, 0xAF, 0xC0|byte(dst&7)<<3|byte(src&7))
}

// ImulRRI emits dst = src * v.
func (a *Asm) ImulRRI(dst, src Reg, v int32) {
	a.rr(0x69, dst, src)
	a.imm32(uint32(v))
}

// ShlRI emits dst <<= n, n in 0..63.
func (a *Asm) ShlRI(dst Reg, n uint8) { a.shift(4, dst, n) }

// ShrRI emits dst >>= n without sign, n in 0..63.
func (a *Asm) ShrRI(dst Reg, n uint8) { a.shift(5, dst, n) }

// RorRI emits dst rotated right by n, in 0..63.
func (a *Asm) RorRI(dst Reg, n uint8) { a.shift(1, dst, n) }

// NegR emits r = -r.
func (a *Asm) NegR(r Reg) { a.rr(0xF7, 3, r) }

// Setcc emits the low byte of r = 1 if the condition holds, else 0.
func (a *Asm) Setcc(c Cond, r Reg) {
	a.rexByte(0, r)
	a.Raw(0x0F, 0x90|byte(c), 0xC0|byte(r&7))
}

// MovzxRB emits dst = the low byte of src, zero-extended to 64 bits.
func (a *Asm) MovzxRB(dst, src Reg) {
	a.rexByte(dst, src)
	a.Raw(0x0F, 0xB6, 0xC0|byte(dst&7)<<3|byte(src&7))
}

// Jcc emits a conditional jump: short, or near if the label lies too far back. A forward label that turns out to lie out of
// reach of the short form is an error of Finish; use JccNear for that.
func (a *Asm) Jcc(c Cond, l Label) {
	if !a.shortReach(l) {
		a.JccNear(c, l)
		return
	}
	a.Raw(0x70 | byte(c))
	a.refLabel(l, 1)
}

// JccNear emits a conditional jump with a 32-bit displacement.
func (a *Asm) JccNear(c Cond, l Label) {
	a.Raw(0x0F, 0x80|byte(c))
	a.refLabel(l, 4)
}

// JccAddr emits a conditional jump to an absolute address; out of reach is an error of Finish.
func (a *Asm) JccAddr(c Cond, addr uint64) {
	a.Raw(0x0F, 0x80|byte(c))
	a.refAddr(addr)
}

// Jmp emits a jump; the rules of Jcc hold.
func (a *Asm) Jmp(l Label) {
	if !a.shortReach(l) {
		a.JmpNear(l)
		return
	}
	a.Raw(0xEB)
	a.refLabel(l, 1)
}

// JmpNear emits a jump with a 32-bit displacement.
func (a *Asm) JmpNear(l Label) {
	a.Raw(0xE9)
	a.refLabel(l, 4)
}

// JmpAddr emits jmp rel32 to an absolute address; out of reach is an error of Finish.
func (a *Asm) JmpAddr(addr uint64) {
	a.Raw(0xE9)
	a.refAddr(addr)
}

// JmpReg emits a jump to the address in r.
func (a *Asm) JmpReg(r Reg) {
	a.rexB(r)
	a.Raw(0xFF, 0xE0|byte(r&7))
}

// Ret emits ret.
func (a *Asm) Ret() { a.Raw(0xC3) }

// Rdtsc emits rdtsc: edx:eax = time stamp counter, not serialised.
func (a *Asm) Rdtsc() { a.Raw(0x0F, 0x31) }

// Syscall emits syscall; it overwrites rcx and r11.
func (a *Asm) Syscall() { a.Raw(0x0F, 0x05) }

// Lahf emits ah = SF, ZF, AF, PF, CF.
func (a *Asm) Lahf() { a.Raw(0x9F) }

// Sahf emits SF, ZF, AF, PF, CF = ah; OF stays.
func (a *Asm) Sahf() { a.Raw(0x9E) }

// SetO emits al = OF; with Lahf before it, rax holds the arithmetic flags. AddAL(0x7F) and Sahf bring them back.
func (a *Asm) SetO() { a.Raw(0x0F, 0x90, 0xC0) }

// AddAL emits al += v.
func (a *Asm) AddAL(v uint8) { a.Raw(0x04, v) }

// Pushfq emits pushfq.
func (a *Asm) Pushfq() { a.Raw(0x9C) }

// Popfq emits popfq.
func (a *Asm) Popfq() { a.Raw(0x9D) }

// nops are the recommended nops of 1..9 bytes (Intel SDM volume 2, NOP).
var nops = [...][]byte{
	{0x90},
	{0x66, 0x90},
	{0x0F, 0x1F, 0x00},
	{0x0F, 0x1F, 0x40, 0x00},
	{0x0F, 0x1F, 0x44, 0x00, 0x00},
	{0x66, 0x0F, 0x1F, 0x44, 0x00, 0x00},
	{0x0F, 0x1F, 0x80, 0x00, 0x00, 0x00, 0x00},
	{0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	{0x66, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
}

// Nop emits n bytes of nops, as few instructions as possible.
func (a *Asm) Nop(n int) {
	for n > 0 {
		k := min(n, len(nops))
		a.Raw(nops[k-1]...)
		n -= k
	}
}
