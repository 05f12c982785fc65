package threadstats

import "github.com/cilium/ebpf/asm"

// What file modes say (linux/stat.h), and the file system of files without a place (linux/magic.h): eventfd, timerfd and others.
const (
	modeType       = 0o170000
	modeSocket     = 0o140000
	modeFile       = 0o100000
	modeDevice     = 0o060000 // block device
	modeDirectory  = 0o040000
	modePipe       = 0o010000
	anonymousMagic = 0x09041934
)

// States of tasks (linux/sched.h).
const (
	stateStopped = 0x4 | 0x8 // by a signal or a tracer
	stateDead    = 0x80      // gone for good
)

// reason is a function of the programs: R0 becomes the quantity for which the task in R1 leaves the processor; R2 is what is
// remembered of the thread, R3 the state that it goes into. The task is the current one: nothing of it changes meanwhile.
// The system call is the one in the registers that the kernel has saved of the program; -1 there is an exception.
func (c *code) reason() {
	c.at("reason")
	c.add(asm.Mov.Reg(rTask, asm.R1), asm.Mov.Reg(rThread, asm.R2))
	c.add(
		asm.Mov.Imm(rRow, int32(BlockedOther)),
		asm.And.Imm(asm.R3, stateStopped),
		asm.JNE.Imm(asm.R3, 0, "reason_end"), // what it waited for last stays remembered: a stop interrupts it, and it is resumed
		asm.FnTaskPtRegs.Call(),
		asm.JEq.Imm(asm.R0, 0, "reason_end"),
		asm.Mov.Reg(rContext, asm.R0),
		load(asm.R1, rContext, int(c.shape.origAX), asm.DWord),
		asm.Mov.Imm(rRow, int32(BlockedFault)),
		asm.JEq.Imm(asm.R1, -1, "reason_end"),
		asm.Mov.Imm(rRow, int32(BlockedOther)),
		asm.Mov.Reg32(asm.R1, asm.R1), // the kernel looks at no more of it
		asm.JGE.Imm(asm.R1, maxCalls, "reason_known"),
		asm.LoadMapValue(asm.R2, c.maps.kinds.FD(), 0),
		asm.Add.Reg(asm.R2, asm.R1),
		load(rRow, asm.R2, 0, asm.Byte),
		asm.And.Imm(rRow, reasonBits),
		asm.JEq.Imm(rRow, byDescriptor, "reason_file"),
		asm.JNE.Imm(rRow, asBefore, "reason_known"),
		load(rRow, rThread, threadLast, asm.Word),
		asm.Ja.Label("reason_end"),
	)
	c.at("reason_file")
	c.add(asm.Mov.Imm(rRow, int32(BlockedOther)))
	c.descriptor("reason_known")
	c.at("reason_known")
	c.add(store(rThread, threadLast, rRow, asm.Word))
	c.at("reason_end")
	c.add(asm.Mov.Reg(asm.R0, rRow), asm.Return())
}

// descriptor sets rRow to what the first argument of the system call is; the saved registers are in rContext. It falls through or
// goes to end.
func (c *code) descriptor(end string) {
	s := c.shape
	c.add(
		load(asm.R1, rTask, int(s.files), asm.DWord),
		asm.JEq.Imm(asm.R1, 0, end),
		load(asm.R1, asm.R1, int(s.fdt), asm.DWord),
		asm.JEq.Imm(asm.R1, 0, end),
		load(asm.R2, rContext, int(s.di), asm.DWord),
		asm.LSh.Imm(asm.R2, 32), // descriptors are 32 bits; the rest of the register is whatever the program had there
		asm.RSh.Imm(asm.R2, 32),
		load(asm.R3, asm.R1, int(s.maxFDs), asm.Word),
		asm.JGE.Reg(asm.R2, asm.R3, end),
		load(asm.R3, asm.R1, int(s.fds), asm.DWord),
		asm.LSh.Imm(asm.R2, 3),
		asm.Add.Reg(asm.R3, asm.R2),
	)
	c.pointer(func(x *casts) int32 { return x.slot })
	c.peek(asm.DWord, 0, end) // the file
	c.pointer(func(x *casts) int32 { return x.file })
	c.peek(asm.DWord, int(s.inode), end)
	c.add(store(asm.R10, atTable, asm.R3, asm.DWord))
	c.peek(asm.Half, int(s.mode), end)
	c.add(asm.And.Imm(asm.R3, modeType))
	for _, is := range []struct {
		mode   int32
		reason Quantity
	}{{modeSocket, BlockedSocket}, {modePipe, BlockedPipe}, {modeDirectory, BlockedFile}, {modeDevice, BlockedFile}} {
		c.add(asm.Mov.Imm(rRow, int32(is.reason)), asm.JEq.Imm(asm.R3, is.mode, end))
	}
	c.add(
		asm.Mov.Imm(rRow, int32(BlockedOther)),
		asm.JNE.Imm(asm.R3, modeFile, end),
		load(asm.R3, asm.R10, atTable, asm.DWord),
	)
	c.peek(asm.DWord, int(s.super), end)
	c.peek(asm.DWord, int(s.magic), end)
	c.add(asm.JEq.Imm(asm.R3, anonymousMagic, end), asm.Mov.Imm(rRow, int32(BlockedFile)))
}

// pointer makes the address in R3 a pointer to a type, where the kernel can: what lies there is read by one instruction then, and what
// a pointer leads to by the next. It takes no time.
func (c *code) pointer(to func(*casts) int32) {
	if c.shape.casts == nil {
		return
	}
	cast := asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoKfuncCall, Constant: int64(c.shape.casts.function)}
	c.add(asm.Mov.Reg(asm.R1, asm.R3), asm.Mov.Imm(asm.R2, to(c.shape.casts)), cast, asm.Mov.Reg(asm.R3, asm.R0))
}

// peek replaces the kernel address in R3 by what lies off bytes behind it, and goes to end where that cannot be read; a pointer's is 0 then.
func (c *code) peek(size asm.Size, off int, end string) {
	if c.shape.casts != nil {
		c.add(load(asm.R3, asm.R3, off, size))
		return
	}
	c.add(
		zero(asm.R10, atScratch),
		asm.Add.Imm(asm.R3, int32(off)),
		asm.Mov.Reg(asm.R1, asm.R10),
		asm.Add.Imm(asm.R1, atScratch),
		asm.Mov.Imm(asm.R2, int32(size.Sizeof())),
		asm.FnProbeReadKernel.Call(),
		asm.JNE.Imm(asm.R0, 0, end),
		load(asm.R3, asm.R10, atScratch, asm.DWord),
	)
}
