package rows

import "github.com/cilium/ebpf/asm"

// Of linux/mm_types.h: the fault is of the program's own code, it is tried again; and the answer that it has to be.
const (
	faultFlagTried = 1 << 5
	faultFlagUser  = 1 << 6
	faultRetry     = 0x400
)

// Arguments of handle_mm_fault (mm/memory.c) and what it returns.
const (
	argFaultFlags  = 16
	argFaultAnswer = 32
)

// trapped is the program of each page fault of a program's own code, before anything is done about it.
func trapped(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.current()
	c.add(asm.FnKtimeGetNs.Call(), store(rRow, faultOff, asm.R0, asm.DWord))
	c.leave("end")
	return c.list
}

// current sets rThread and rRow for the running thread, or leaves.
func (c *code) current() {
	c.add(
		asm.Mov.Reg(rContext, asm.R1),
		asm.FnGetCurrentTaskBtf.Call(),
		asm.Mov.Reg(rTask, asm.R0),
	)
	c.leaveUnlessWatched("end")
	c.find("end", "end")
}

// faulting is the program at the beginning of a fault's handling. A fault of the program's own code has begun with trapped; one
// that the kernel makes, when it copies from or to the program, begins here, unless it is tried again.
func faulting(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.current()
	c.add(
		load(asm.R1, rContext, argFaultFlags, asm.DWord),
		asm.And.Imm(asm.R1, faultFlagTried|faultFlagUser),
		asm.JEq.Imm(asm.R1, 0, "begin"),
		load(asm.R1, rRow, faultOff, asm.DWord),
		asm.JNE.Imm(asm.R1, 0, "end"),
	)
	c.at("begin")
	c.add(asm.FnKtimeGetNs.Call(), store(rRow, faultOff, asm.R0, asm.DWord))
	c.leave("end")
	return c.list
}

// faulted is the program at its end, by when the kernel has counted it.
func faulted(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.current()
	c.syncOne(countMinor)
	c.syncOne(countMajor)
	c.add(
		load(asm.R1, rContext, argFaultAnswer, asm.DWord),
		asm.And.Imm(asm.R1, faultRetry),
		asm.JNE.Imm(asm.R1, 0, "end"),
		load(asm.R1, rRow, faultOff, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "end"),
		zero(rRow, faultOff),
		asm.Mov.Reg(rContext, asm.R1),
		asm.FnKtimeGetNs.Call(),
		asm.Sub.Reg(asm.R0, rContext),
	)
	c.atLeastZero(asm.R0)
	c.addTo(FaultTime, asm.R0, asm.R1)
	c.leave("end")
	return c.list
}
