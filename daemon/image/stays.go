package image

import (
	"cmp"
	"slices"

	"culprit/daemon/image/elffile"
	"culprit/trampoline/x86"
)

// Bytes of functions that must stay what they are although they can be decoded: those that are run as two kinds of instructions, and
// those that are also read as data.

// Why bytes of code can neither move nor change.
const (
	whySequence = "an instruction would have to move that is bound to its place by a restartable sequence"
	whyTwice    = "an instruction would have to change whose bytes are also run as another one: something jumps into its middle"
	whyRead     = "an instruction would have to change whose bytes the program also reads as data"
)

// Stays says why a byte of [lo, hi) must stay what and where it is; "" if none must. w is the flow of the function there, nil if there is
// none.
func (o *Object) Stays(w *Flow, lo, hi uint64) string {
	switch {
	case o.InSequence(lo, hi):
		return whySequence
	case w != nil && slices.ContainsFunc(w.twice, func(r Range) bool { return lo < r.Hi && r.Lo < hi }):
		return whyTwice
	case o.readAsData(lo, hi):
		return whyRead
	}
	return ""
}

// readAsData reports whether an instruction somewhere reads one of the bytes of [lo, hi) by its address.
func (o *Object) readAsData(lo, hi uint64) bool {
	reads := o.xref().reads
	i, _ := slices.BinarySearchFunc(reads, hi, func(r Range, a uint64) int { return cmp.Compare(r.Lo, a) })
	return i > 0 && reads[i-1].Hi > lo
}

// readTwice follows what leads into the middle of instructions until both ways to read the code come together: nothing between can
// move or change.
func (b *flowBuilder) readTwice() {
	seen := map[uint64]bool{}
	for i := 0; i < len(b.flow.Targets); i++ { // more come while it goes on
		if a := b.flow.Targets[i]; b.flow.At(a) == nil && b.flow.In(a) && !seen[a] {
			seen[a] = true
			b.readAgain(a)
		}
	}
}

// readAgain decodes from an address in the middle of an instruction on.
func (b *flowBuilder) readAgain(from uint64) {
	at, on := from, true
	for on && b.flow.At(at) == nil && b.flow.In(at) {
		code, err := b.o.Code(at, min(at+x86.MaxLen, b.partEnd(at)))
		if err != nil {
			return
		}
		in, err := x86.Decode(code, at)
		if err != nil { // it is data that was taken for an address
			in.Len = len(code)
			break
		}
		if in.RelLen != 0 && b.flow.In(in.Target) {
			b.target(in.Target)
		}
		if in.Flow == x86.FlowJumpInd {
			b.hide("the code in the middle of an instruction at %#x leads where it does not show", from)
		}
		at, on = in.End(), in.Flow != x86.FlowJump && in.Flow != x86.FlowJumpInd && in.Flow != x86.FlowRet && in.Flow != x86.FlowStop
	}
	if on && b.flow.At(at) != nil {
		b.target(at) // it is reached by another way than from the instruction before it
	}
	b.flow.twice = append(b.flow.twice, Range{b.begun(from), max(at, from+1)})
}

// begun is where the instruction begins that addr is in the middle of.
func (b *flowBuilder) begun(addr uint64) uint64 {
	i, _ := slices.BinarySearchFunc(b.flow.Insts, addr, func(in x86.Inst, a uint64) int { return cmp.Compare(in.Addr, a) })
	if i > 0 && b.flow.Insts[i-1].End() > addr {
		return b.flow.Insts[i-1].Addr
	}
	return addr
}

// partEnd is the end of the part of the function that addr lies in.
func (b *flowBuilder) partEnd(addr uint64) uint64 {
	for _, r := range b.flow.Parts {
		if r.Contains(addr) {
			return r.Hi
		}
	}
	return addr
}

// noteRead notes an operand in code that an instruction reads, not only loads the address of.
func (c *codeScan) noteRead(in *x86.Inst, code []byte) {
	at := in.RIPTarget
	if in.RIPOff == 0 {
		p, ok := operandOf(code, in)
		if !c.fixed || !ok || p.isReg || p.base != noReg || p.index != noReg || in.Prefix&(x86.PrefixSegFS|x86.PrefixSegGS) != 0 {
			return
		}
		at = uint64(uint32(p.disp))
	}
	if in.Opcode == opLea || in.Nop || c.o.elf.ExecAt(at) == nil {
		return
	}
	c.reads = append(c.reads, Range{at, at + widest(in)})
}

// widest is how many bytes an instruction reads at most, by the registers that it can have.
func widest(in *x86.Inst) uint64 {
	switch {
	case in.Opcode >= 0x2000 && in.Opcode < 0x4000: // EVEX
		return 64
	case in.Opcode >= 0x1000: // VEX, XOP
		return 32
	case in.Opcode >= 0x100 || in.Opcode >= 0xD8 && in.Opcode <= 0xDF: // SSE, x87
		return 16
	}
	return 8
}

// disjoint sorts ranges and makes one of those that overlap or touch.
func disjoint(all []Range) []Range {
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	apart := all[:0]
	for _, r := range all {
		if n := len(apart); n > 0 && r.Lo <= apart[n-1].Hi {
			apart[n-1].Hi = max(apart[n-1].Hi, r.Hi)
			continue
		}
		apart = append(apart, r)
	}
	return apart
}

// sums notes what adding constants makes of an address of code that an instruction loads, as far as that is seen in a straight line: an
// entry behind the first instructions. It errs towards too many.
func (c *codeScan) sums(in *x86.Inst, code []byte, at uint64) {
	reg, ok := loaded(in, code)
	for n := 0; ok && n < lookBack && in.Len < len(code); n++ {
		code = code[in.Len:]
		next, err := x86.Decode(code, in.End())
		if err != nil || next.Flow != x86.FlowNext {
			return
		}
		if by, sums := added(&next, code, reg); sums {
			at += by
			c.taken = append(c.taken, at)
		} else if replaces(&next, code, reg) {
			return
		}
		in = &next
	}
}

// replaces reports whether an instruction puts something else into a register, in the ways that are common.
func replaces(in *x86.Inst, code []byte, reg byte) bool {
	if to, ok := loaded(in, code); ok {
		return to == reg
	}
	p, ok := operandOf(code, in)
	switch in.Opcode {
	case opMovStore:
		return ok && p.isReg && p.rm == reg
	case opXorLoad, opLea, opMovsxd, 0x1b6, 0x1b7, 0x1be, 0x1bf: // and movzx, movsx
		return ok && p.reg == reg
	case 0x31: // xor, to clear it
		return ok && p.isReg && p.rm == reg
	}
	return in.Opcode&^7 == opPop && byte(in.Opcode&7) == reg&7
}

// added gives the constant that an instruction adds to a register, or with which it puts the sum elsewhere.
func added(in *x86.Inst, code []byte, reg byte) (by uint64, ok bool) {
	p, ok := operandOf(code, in)
	switch {
	case !ok || in.Prefix&x86.PrefixOpSize != 0:
		return 0, false
	case in.Opcode == opLea:
		return uint64(int64(p.disp)), in.RIPOff == 0 && p.base == reg && p.index == noReg
	case in.Opcode == opGroupImm:
		by = uint64(int64(int8(code[in.Len-1])))
	case in.Opcode == opGroup32:
		by = uint64(int64(int32(elffile.U32(code[in.Len-4:]))))
	case in.Opcode == opGroup5: // inc, dec: the group's numbers are those of add and of or
		return 1 - 2*uint64(p.reg&1), p.isReg && p.rm == reg && p.reg < 2
	}
	if p.reg == 5 { // sub
		by = -by
	}
	return by, (in.Opcode == opGroupImm || in.Opcode == opGroup32) && p.isReg && p.rm == reg && (p.reg == 0 || p.reg == 5)
}
