package image

import (
	"slices"

	"culprit/daemon/image/elffile"
	"culprit/trampoline/x86"
)

// How far back from an indirect jump its parts are looked for, in instructions. Compilers keep them together; the bound is
// there for what the scheduler moves between them.
const (
	lookBack   = 14
	originBack = 40
	maxEntry   = 1 << 16 // entries of one jump table
	noBound    = -1
	tailWhere  = "an indirect jump at %#x leads where the code does not show"
)

// resolveIndirect finds out for every indirect jump whether it is a jump table, a computed goto or a tail call.
//
// Position-independent jump tables hold 32-bit distances from the table: "lea table(%rip),B; movslq (B,I,4),X; add B,X;
// jmp *X" (with a constant index, "movslq table+N(%rip),X"). The lea may be far away (hoisted out of a loop), so every
// address that the function loads by lea and that holds something like a table is taken for one. Tables of 64-bit addresses
// need no search: their words are in the relocations, or are found by the scan of all data.
func (b *flowBuilder) resolveIndirect() {
	var tables map[uint64]distances
	for _, i := range b.indirect {
		load, ok := b.distanceJump(i)
		if !ok {
			b.resolveAddress(i)
			continue
		}
		if tables == nil {
			tables = b.distanceTables()
		}
		b.resolveDistance(i, load, tables)
	}
}

// distanceJump recognises a load of a 32-bit distance and the sum with a base before the jump at i, and gives the load.
// Without optimisation the load is "lea 0(,I,4),D; lea table(%rip),A; mov (D,A),%eax; cltq".
func (b *flowBuilder) distanceJump(i int) (load int, ok bool) {
	op, ok := operandOf(b.bytesOf(&b.flow.Insts[i]), &b.flow.Insts[i])
	if !ok || !op.isReg {
		return 0, false
	}
	terms := []byte{op.rm} // registers that make up the sum
	summed, extended := false, false
	for j := i - 1; j >= 0 && j >= i-lookBack; j-- {
		in := &b.flow.Insts[j]
		if in.Flow != x86.FlowNext && in.Flow != x86.FlowCond {
			return 0, false
		}
		p, ok := operandOf(b.bytesOf(in), in)
		switch {
		case in.Opcode == opCltq:
			extended = true
		case !ok && in.Opcode == opAddImm:
			summed = summed || terms[0] == 0
		case !ok:
		case !p.isReg && slices.Contains(terms, p.reg) && (in.Opcode == opMovsxd && (p.scale == 4 || in.RIPOff != 0) ||
			extended && in.Opcode == opMovLoad && p.index != noReg):
			return j, summed
		case !summed:
			if more := addends(in, p, op.rm); more != nil {
				terms, summed = append(terms, more...), true
			}
		}
	}
	return 0, false
}

// addends gives the registers whose sum in leaves in reg; nil if it is no such sum.
func addends(in *x86.Inst, p operand, reg byte) []byte {
	switch {
	case in.Opcode == opAddStore && p.isReg && p.rm == reg:
		return []byte{p.reg}
	case in.Opcode == opAddLoad && p.isReg && p.reg == reg:
		return []byte{p.rm}
	case in.Opcode == opLea && !p.isReg && p.reg == reg && p.scale == 1 && p.base != noReg && p.index != noReg:
		return []byte{p.base, p.index}
	case in.Opcode == opGroup32 && p.isReg && p.rm == reg && p.reg == 0: // add $imm32
		return []byte{reg}
	}
	return nil
}

// distances is what was read of a table of 32-bit distances.
type distances struct {
	n     int      // entries up to the first that leads out of the function
	to    []uint64 // where they lead
	stray bool     // that one leads into a fragment which may belong to the function
}

// distanceTables tries every address that the function loads by lea as a jump table, and takes the targets of all that are.
// Distances may also be counted from a label in the code (differences of labels). At fixed addresses tables and labels are
// constants in the instructions.
func (b *flowBuilder) distanceTables() map[uint64]distances {
	var bases, labels []uint64
	for i := range b.flow.Insts {
		v, ok := b.constant(&b.flow.Insts[i])
		if !ok {
			continue
		}
		if s := b.o.elf.SectionAt(v); s != nil && s.Exec() && b.flow.In(v) {
			labels = append(labels, v)
		} else if s != nil && !s.Exec() {
			bases = append(bases, v)
		}
	}
	tables := map[uint64]distances{}
	slices.Sort(bases)
	for _, t := range slices.Compact(bases) {
		best := b.readDistances(t, t)
		for _, l := range labels {
			if d := b.readDistances(t, l); d.n > best.n {
				best = d
			}
		}
		if best.n > 0 {
			tables[t] = best
		}
	}
	return tables
}

// constant gives the address that an instruction brings into a computation.
func (b *flowBuilder) constant(in *x86.Inst) (uint64, bool) {
	if in.Opcode == opLea && in.RIPOff != 0 {
		return in.RIPTarget, true
	}
	if b.o.elf.Kind() != elffile.KindExec {
		return 0, false
	}
	code := b.bytesOf(in)
	if in.Opcode == opMovsxd {
		p, ok := operandOf(code, in)
		return uint64(uint32(p.disp)), ok && !p.isReg && p.scale == 4
	}
	if in.Opcode == opAddImm && in.Len >= 5 || in.Opcode == opGroup32 && in.ModRM>>3&7 == 0 && in.Len >= 6 {
		return uint64(elffile.U32(code[in.Len-4:])), true
	}
	return immediate(in, code)
}

// readDistances reads entries while they lead to an instruction of the function. What follows the table may be read as more
// entries: a target too many does no harm.
func (b *flowBuilder) readDistances(table, base uint64) (d distances) {
	s := b.o.elf.SectionAt(table)
	e := s.Slice(table, min(4*maxEntry, (s.End()-table)&^3))
	for ; len(e) >= 4; e = e[4:] {
		to := base + uint64(int64(int32(elffile.U32(e))))
		if !b.flow.In(to) {
			f := b.o.functions().at(to)
			d.stray = f != nil && (f.fn.maybeFragment || f.fn.coldSymbol)
			break
		}
		if b.flow.At(to) == nil {
			break
		}
		b.target(to)
		d.to = append(d.to, to)
		d.n++
	}
	return d
}

// resolveDistance checks that the jump's table was found whole. load is the instruction that reads it.
func (b *flowBuilder) resolveDistance(i, load int, tables map[uint64]distances) {
	in := &b.flow.Insts[i]
	if len(tables) == 0 {
		b.hide("the jump table of the indirect jump at %#x was not found", in.Addr)
		return
	}
	p, _ := operandOf(b.bytesOf(&b.flow.Insts[load]), &b.flow.Insts[load])
	want := b.bound(load, p.index)
	table, known := b.loaded(load, p.base)
	for t, d := range tables {
		if !known || t == table {
			b.flow.tables[in.Addr] = append(b.flow.tables[in.Addr], d.to...)
		}
		switch {
		case known && t != table:
		case known && want != noBound && d.n < want:
			b.hide("the jump table of the indirect jump at %#x has %d entries of which %d could be followed", in.Addr, want, d.n)
		case want == noBound && d.stray:
			b.hide("a jump table at %#x leads into a fragment at which it may not end", t)
		}
	}
}

// loaded finds the lea that put the table's address into reg, going back from instruction i.
func (b *flowBuilder) loaded(i int, reg byte) (addr uint64, ok bool) {
	for j := i - 1; j >= 0 && j >= i-lookBack; j-- {
		in := &b.flow.Insts[j]
		if p, ok := operandOf(b.bytesOf(in), in); ok && in.Opcode == opLea && p.reg == reg {
			return in.RIPTarget, in.RIPOff != 0
		}
	}
	return 0, false
}

// bound looks for the check "cmp $N, index; ja default" before instruction i and gives N+1, noBound if there is none near or
// if the index is made of what was compared by more than copies.
func (b *flowBuilder) bound(i int, index byte) int {
	for j := i - 1; j > 0 && j >= i-8; j-- {
		in := &b.flow.Insts[j]
		if in.Flow == x86.FlowCond {
			if in.Opcode != opJccShort+7 && in.Opcode != opJccNear+7 { // ja
				return noBound
			}
			return b.compared(&b.flow.Insts[j-1], index)
		}
		if in.Flow != x86.FlowNext {
			return noBound
		}
		p, ok := operandOf(b.bytesOf(in), in)
		switch {
		case !ok, in.Opcode == opLea && p.reg != index:
		case in.Opcode == opMovStore && p.isReg && p.rm == index:
			index = p.reg
		case in.Opcode == opMovLoad && p.isReg && p.reg == index:
			index = p.rm
		case p.reg&7 == index&7, p.isReg && p.rm&7 == index&7: // written, or widened from a part
			return noBound
		}
	}
	return noBound
}

// compared gives the constant of a cmp of reg plus one.
func (b *flowBuilder) compared(in *x86.Inst, reg byte) int {
	code := b.bytesOf(in)
	p, ok := operandOf(code, in)
	group := ok && p.isReg && p.reg == 7 && p.rm == reg
	switch {
	case len(code) < 2:
		return noBound
	case in.Opcode == opCmpAlImm && reg == 0, in.Opcode == opGroup8 && group:
		return int(code[len(code)-1]) + 1
	case in.Opcode == opGroupImm && group:
		return int(int8(code[len(code)-1])) + 1
	case len(code) >= 5 && (in.Opcode == opCmpImm && reg == 0 || in.Opcode == opGroup32 && group) && in.Prefix&x86.PrefixOpSize == 0:
		return int(int32(elffile.U32(code[len(code)-4:]))) + 1
	}
	return noBound
}

// resolveAddress handles jumps whose target is a whole address, in a register or in memory. All addresses of places inside
// the function are targets already (b.x.taken); what is left is to tell a computed goto or jump table from a tail call.
func (b *flowBuilder) resolveAddress(i int) {
	in := &b.flow.Insts[i]
	tail := b.stackIsPlain(in.Addr)
	switch {
	case b.originOf(i) == originComputed:
		b.hide("the target of the indirect jump at %#x is computed in a way that is not known", in.Addr)
	case in.RIPOff != 0:
		e := Exit{Addr: in.Addr, Kind: ExitTailInd}
		e.Import, e.Target = b.o.throughSlot(in.RIPTarget)
		if e.Import == "" && e.Target == 0 && !tail && !b.ownTaken {
			b.hide(tailWhere, in.Addr)
			return
		}
		b.exit(e)
	case b.ownTaken && (!tail || b.fromTable(i)):
		for _, r := range b.flow.Parts { // the labels are known, and one of them it is
			b.flow.tables[in.Addr] = append(b.flow.tables[in.Addr], within(b.x.taken, r)...)
		}
	case tail:
		b.exit(Exit{Addr: in.Addr, Kind: ExitTailInd})
	default:
		b.hide(tailWhere, in.Addr)
	}
}

// An origin says where the register of an indirect jump got its value.
type origin uint8

const (
	originUnknown  origin = iota // not seen in the instructions before the jump
	originLoaded                 // from memory, by a lea of one place, by a call, or an argument of the function
	originComputed               // by arithmetic
)

// originOf goes back from the jump at i to what made its target. No compiler computes a pointer to a function or label (except
// as distanceJump knows); hand-written assembly jumps into its own middle in this way. The C library's hidden pointers
// (xor %fs:0x30) are pointers to functions.
func (b *flowBuilder) originOf(i int) origin {
	p, ok := operandOf(b.bytesOf(&b.flow.Insts[i]), &b.flow.Insts[i])
	if !ok || !p.isReg {
		return originLoaded
	}
	reg := p.rm
	for j := i - 1; j >= i-originBack; j-- {
		if j < 0 || b.flow.Insts[j+1].Addr == b.f.Addr {
			return originLoaded // an argument
		}
		in := &b.flow.Insts[j]
		switch in.Flow {
		case x86.FlowNext, x86.FlowCond, x86.FlowSyscall:
		case x86.FlowCall, x86.FlowCallInd:
			if callClobbers(reg) {
				return originLoaded // what the call returned
			}
		default:
			return originUnknown
		}
		if in.Opcode&^7 == opPop && reg&7 == byte(in.Opcode&7) {
			return originLoaded
		}
		q, ok := operandOf(b.bytesOf(in), in)
		switch {
		case !ok:
			if in.Opcode < opCmpImm && in.Opcode&7 == 5 && reg == 0 { // add..xor $imm, rax
				return originComputed
			}
		case in.Opcode == opMovLoad && q.reg == reg:
			if !q.isReg {
				return originLoaded
			}
			reg = q.rm
		case in.Opcode == opMovStore && q.isReg && q.rm == reg:
			reg = q.reg
		case in.Opcode == opLea && q.reg == reg:
			if in.RIPOff != 0 {
				return originLoaded
			}
			return originComputed
		case in.Opcode == opXorLoad && in.Prefix&x86.PrefixSegFS != 0 && q.reg == reg:
			return originLoaded
		case writesSum(in, q, reg):
			return originComputed
		}
	}
	return originUnknown
}

// writesSum reports whether in is two-operand arithmetic (add, or, adc, sbb, and, sub, xor, shifts, multiplication, sign
// extension) that leaves its result in reg.
func writesSum(in *x86.Inst, p operand, reg byte) bool {
	switch op := in.Opcode; {
	case op < 0x38 && op&7 == 1, op == opGroup32 && p.reg != 7, op == opGroupImm && p.reg != 7, op == 0xc1, op == 0xd1, op == 0xd3, op == 0xf7 && p.reg >= 2:
		return p.isReg && p.rm == reg
	case op < 0x38 && op&7 == 3, op == opMovsxd, op == 0x1af, op == 0x69, op == 0x6b:
		return p.reg == reg
	}
	return false
}

// stackIsPlain says by call frame information that the stack at addr is as the caller left it, so that a jump is a tail call.
// It is the best test there is; compilers describe every change of the stack pointer.
func (b *flowBuilder) stackIsPlain(addr uint64) bool {
	d := b.o.frames.At(addr)
	return d != nil && d.Plain(addr)
}

// fromTable reports whether the jump at i goes through a table of addresses that is indexed: jmp *table(,I,8), or a load of
// this kind shortly before jmp *X.
func (b *flowBuilder) fromTable(i int) bool {
	p, ok := operandOf(b.bytesOf(&b.flow.Insts[i]), &b.flow.Insts[i])
	if !ok {
		return false
	}
	if !p.isReg {
		return p.scale == 8 && p.index != noReg
	}
	for j := i - 1; j >= 0 && j >= i-6; j-- {
		in := &b.flow.Insts[j]
		q, ok := operandOf(b.bytesOf(in), in)
		if ok && in.Opcode == opMovLoad && q.reg == p.rm {
			return !q.isReg && q.scale == 8 && q.index != noReg
		}
	}
	return false
}
