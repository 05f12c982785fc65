package threadstats

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Registers by what they hold while a program runs; calls of the kernel's functions leave them alone.
const (
	rContext = asm.R6
	rTask    = asm.R7
	rThread  = asm.R8 // its value in maps.threads
	rRow     = asm.R9
)

// Places in a program's stack frame, below R10.
const (
	atNow     = -8  // the clock
	atIndex   = -12 // 32 bits: a row's index
	atProcess = -16 // 32 bits: a process's number
	atScratch = -24
	atTable   = -32
	atKey     = -40
	atLost    = -48
	atSince   = -56
	atWoken   = -64
	atReason  = -72
	atPlace   = -80
	atTask    = -88
)

// A code is a program that is being written: instructions, and a label for the next one.
type code struct {
	shape *shape
	maps  *maps
	list  asm.Instructions
	label string
	names int
}

// add appends instructions.
func (c *code) add(list ...asm.Instruction) {
	for _, in := range list {
		if c.label != "" {
			in, c.label = in.WithSymbol(c.label), ""
		}
		c.list = append(c.list, in)
	}
}

// at puts a label in front of the next instruction.
func (c *code) at(label string) {
	if c.label != "" {
		c.add(asm.Mov.Reg(asm.R0, asm.R0)) // two labels at one place: R0 is set wherever labels stand
	}
	c.label = label
}

// name makes a label that no other has.
func (c *code) name(what string) string {
	c.names++
	return fmt.Sprintf("%s_%d", what, c.names)
}

// load reads size bytes at an offset from a register.
func load(dst, src asm.Register, off int, size asm.Size) asm.Instruction {
	return asm.LoadMem(dst, src, int16(off), size)
}

// store writes size bytes at an offset from a register.
func store(dst asm.Register, off int, src asm.Register, size asm.Size) asm.Instruction {
	return asm.StoreMem(dst, int16(off), src, size)
}

// zero writes 64 bits of nothing.
func zero(dst asm.Register, off int) asm.Instruction {
	return number(dst, off, 0)
}

// number writes a 64 bit constant of 32 significant ones; asm has no constructor for it.
func number(dst asm.Register, off int, value int64) asm.Instruction {
	return asm.Instruction{OpCode: asm.StoreImmOp(asm.DWord), Dst: dst, Offset: int16(off), Constant: value}
}

// indivisible is an atomic operation on 64 bits of memory. Of cilium/ebpf v0.22.0 the constant that tells them apart has to be put in
// by hand: Marshal drops the one of the op code, and everything becomes an addition.
func indivisible(op asm.AtomicOp, dst asm.Register, off int, src asm.Register) asm.Instruction {
	in := op.Mem(dst, src, asm.DWord, int16(off))
	in.Constant = int64(op >> 8)
	return in
}

// sum is the offset of a quantity in a row.
func sum(q Quantity) int { return int(q.Offset()) }

// addTo adds a register to a row's sum; another register is used on the way. Only the row's thread, or the switch that takes it
// off or puts it on the processor, adds to a sum, so that no other write can come between.
func (c *code) addTo(q Quantity, from, via asm.Register) {
	c.add(load(via, rRow, sum(q), asm.DWord), asm.Add.Reg(via, from), store(rRow, sum(q), via, asm.DWord))
}

// lookup finds the value of the key at a place in the frame; R0 is it or 0.
func (c *code) lookup(m *ebpf.Map, at int) {
	c.add(asm.LoadMapPtr(asm.R1, m.FD()), asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, int32(at)), asm.FnMapLookupElem.Call())
}

// clock puts CLOCK_MONOTONIC in ns into the frame.
func (c *code) clock() {
	c.add(asm.FnKtimeGetNs.Call(), store(asm.R10, atNow, asm.R0, asm.DWord))
}

// leaveUnlessWatched goes to label unless the filter lets the task in rTask pass.
func (c *code) leaveUnlessWatched(label string) {
	c.add(
		load(asm.R3, rTask, int(c.shape.tgid), asm.Word),
		asm.And.Imm(asm.R3, filterSize-1),
		asm.LoadMapValue(asm.R2, c.maps.filter.FD(), 0),
		asm.Add.Reg(asm.R2, asm.R3),
		load(asm.R3, asm.R2, 0, asm.Byte),
		asm.JEq.Imm(asm.R3, 0, label),
	)
}

// beginChange and endChange enclose a change of the row that a reader must not see half of: its sequence is odd meanwhile. Where two
// programs change a row at once, which takes a thread that loses it to another, it is even when both are done.
func (c *code) beginChange() { c.sequence(0) }
func (c *code) endChange()   { c.sequence(1) }

func (c *code) sequence(more int32) {
	c.add(load(asm.R1, rRow, seqOff, asm.Word), asm.Or.Imm(asm.R1, 1), asm.Add.Imm(asm.R1, more), store(rRow, seqOff, asm.R1, asm.Word))
}

// beginLoop sets a counter in the frame to 0, and loop is the first thing in the loop. A kernel that knows no better walks through each
// turn for itself when it checks a program, since the counter differs, and that for each way through the turn: two thirds of the time that
// it takes to load these programs. One that has may_goto (6.9) sees to it that the loop ends, and so one turn is enough, if it does not
// know the counter: that the difference of a number from itself is 0 it does not see.
func (c *code) beginLoop(counter int) {
	if !c.shape.hasMayGoto {
		c.add(zero(asm.R10, counter))
		return
	}
	c.add(
		load(asm.R1, asm.R10, atKey, asm.DWord),
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.Sub.Reg(asm.R1, asm.R2),
		store(asm.R10, counter, asm.R1, asm.DWord),
	)
}

func (c *code) loop(end string) {
	if c.shape.hasMayGoto {
		c.add(asm.JCOND.Label(end)) // after millions of turns
	}
}

// leave ends a program.
func (c *code) leave(label string) {
	c.at(label)
	c.add(asm.Mov.Imm(asm.R0, 0), asm.Return())
}

// count adds to a word of a process's value.
func (c *code) count(process asm.Register, off int, by int32) {
	c.add(asm.Mov.Imm(asm.R1, by), indivisible(asm.AddAtomic, process, off, asm.R1))
}
