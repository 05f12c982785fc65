package image

import (
	"slices"

	"culprit/trampoline/x86"
)

// How far back from an indirect jump its parts are looked for, in instructions. Compilers keep them together; the bound is
// there for what the scheduler moves between them.
const (
	lookBack  = 14
	maxEntry  = 1 << 16 // entries of one jump table
	noBound   = -1
	tailWhere = "an indirect jump at %#x leads where the code does not show"
)

// resolveIndirect finds out for every indirect jump whether it is a jump table, a computed goto or a tail call.
//
// Position-independent jump tables hold 32-bit distances from the table: "lea table(%rip),B; movslq (B,I,4),X; add B,X;
// jmp *X" (with a constant index, "movslq table+N(%rip),X"). The lea may be far away (hoisted out of a loop), so every address that the function loads by lea and that holds
// something like a table is taken for one. Tables of 64-bit addresses need no search: their words are in the relocations, or
// are found by the scan of all data.
func (b *flowBuilder) resolveIndirect() {
	if len(b.indirect) == 0 {
		return
	}
	var tables map[uint64]int
	for _, i := range b.indirect {
		if add, ok := b.distanceJump(i); ok {
			if tables == nil {
				tables = b.distanceTables()
			}
			b.resolveDistance(i, add, tables)
			continue
		}
		b.resolveAddress(i)
	}
}

// distanceJump recognises "movslq (B,I,4),X; add; jmp *X" before the jump. It gives the indices of the load.
func (b *flowBuilder) distanceJump(i int) (load int, ok bool) {
	op, ok := operandOf(b.bytesOf(&b.flow.Insts[i]), &b.flow.Insts[i])
	if !ok || !op.isReg {
		return 0, false
	}
	sum, other := op.rm, byte(noReg)
	for j := i - 1; j >= 0 && j >= i-lookBack; j-- {
		in := &b.flow.Insts[j]
		if in.Flow == x86.FlowJump || in.Flow == x86.FlowRet || in.Flow == x86.FlowJumpInd {
			return 0, false
		}
		p, ok := operandOf(b.bytesOf(in), in)
		if !ok {
			continue
		}
		switch {
		case other == noReg && in.Opcode == opAddStore && p.isReg && p.rm == sum:
			other = p.reg
		case other == noReg && in.Opcode == opAddLoad && p.isReg && p.reg == sum:
			other = p.rm
		case in.Opcode == opMovsxd && !p.isReg && (p.scale == 4 || in.RIPOff != 0) && (p.reg == sum || p.reg == other):
			return j, other != noReg
		}
	}
	return 0, false
}

// distanceTables tries every address that the function loads by lea as a jump table, takes the targets of all that are, and
// gives the number of their entries. Distances may also be counted from a label in the code (differences of labels).
func (b *flowBuilder) distanceTables() map[uint64]int {
	var bases, labels []uint64
	for i := range b.flow.Insts {
		in := &b.flow.Insts[i]
		if in.Opcode != opLea || in.RIPOff == 0 {
			continue
		}
		if s := b.o.sectionAt(in.RIPTarget); s != nil && s.exec() && b.flow.In(in.RIPTarget) {
			labels = append(labels, in.RIPTarget)
		} else if s != nil && !s.exec() {
			bases = append(bases, in.RIPTarget)
		}
	}
	tables := map[uint64]int{}
	slices.Sort(bases)
	for _, t := range slices.Compact(bases) {
		n := b.readDistances(t, t)
		for _, l := range labels {
			n = max(n, b.readDistances(t, l))
		}
		if n > 0 {
			tables[t] = n
		}
	}
	return tables
}

// readDistances reads entries while they lead to an instruction of the function, or to a fragment that may be part of it.
func (b *flowBuilder) readDistances(table, base uint64) (n int) {
	s := b.o.sectionAt(table)
	d := s.slice(table, min(4*maxEntry, (s.end()-table)&^3))
	for ; len(d) >= 4; d = d[4:] {
		to := base + uint64(int64(int32(u32(d))))
		if b.flow.In(to) {
			if b.flow.At(to) == nil {
				break
			}
			b.target(to)
		} else if f := b.o.functions().startsAt(to); f == nil || !f.maybeFragment && !f.coldSymbol {
			break
		}
		n++
	}
	return n
}

// resolveDistance checks that the jump's table was found whole. load is the instruction that reads it.
func (b *flowBuilder) resolveDistance(i, load int, tables map[uint64]int) {
	in := &b.flow.Insts[i]
	if len(tables) == 0 {
		b.hide("the jump table of the indirect jump at %#x was not found", in.Addr)
		return
	}
	p, _ := operandOf(b.bytesOf(&b.flow.Insts[load]), &b.flow.Insts[load])
	want := b.bound(load, p.index)
	if want == noBound {
		return
	}
	table, ok := b.loaded(load, p.base)
	if n := tables[table]; ok && n < want {
		b.hide("the jump table of the indirect jump at %#x has %d entries of which %d could be followed", in.Addr, want, n)
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
// if the index was loaded from another table in between.
func (b *flowBuilder) bound(i int, index byte) int {
	for j := i - 1; j > 0 && j >= i-8; j-- {
		in := &b.flow.Insts[j]
		if p, ok := operandOf(b.bytesOf(in), in); ok && !p.isReg && in.Opcode != opLea && p.reg&7 == index&7 {
			return noBound
		}
		if in.Flow == x86.FlowCond {
			if in.Opcode != opJccShort+7 && in.Opcode != opJccNear+7 { // ja
				return noBound
			}
			return b.compared(&b.flow.Insts[j-1])
		}
		if in.Flow != x86.FlowNext {
			return noBound
		}
	}
	return noBound
}

// compared gives the constant of a cmp plus one.
func (b *flowBuilder) compared(in *x86.Inst) int {
	code := b.bytesOf(in)
	if len(code) < 2 {
		return noBound
	}
	group := in.HasModRM && in.ModRM>>3&7 == 7
	switch {
	case in.Opcode == opCmpAlImm, in.Opcode == opGroup8 && group:
		return int(code[len(code)-1]) + 1
	case in.Opcode == opGroupImm && group:
		return int(int8(code[len(code)-1])) + 1
	case len(code) >= 5 && (in.Opcode == opCmpImm || in.Opcode == opGroup32 && group) && in.Prefix&x86.PrefixOpSize == 0:
		return int(int32(u32(code[len(code)-4:]))) + 1
	}
	return noBound
}

// resolveAddress handles jumps whose target is a whole address, in a register or in memory. All addresses of places inside
// the function are targets already (b.x.taken); what is left is to tell a computed goto or jump table from a tail call.
func (b *flowBuilder) resolveAddress(i int) {
	in := &b.flow.Insts[i]
	tail := b.stackIsPlain(in.Addr)
	switch {
	case in.RIPOff != 0:
		e := Exit{Addr: in.Addr, Kind: ExitTailInd}
		e.Import, e.Target = b.o.throughSlot(in.RIPTarget)
		if e.Import == "" && e.Target == 0 && !tail && !b.ownTaken {
			b.hide(tailWhere, in.Addr)
			return
		}
		b.exit(e)
	case b.ownTaken && (!tail || b.fromTable(i)):
		// The labels are known, and one of them it is.
	case tail:
		b.exit(Exit{Addr: in.Addr, Kind: ExitTailInd})
	default:
		b.hide(tailWhere, in.Addr)
	}
}

// stackIsPlain says by call frame information that the stack at addr is as the caller left it, so that a jump is a tail call.
// It is the best test there is; compilers describe every change of the stack pointer.
func (b *flowBuilder) stackIsPlain(addr uint64) bool {
	d := b.o.fdeAt(addr)
	if d == nil {
		return false
	}
	w, err := d.rowAt(addr)
	return err == nil && w.plain()
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
