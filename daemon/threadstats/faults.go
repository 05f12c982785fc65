package threadstats

import "github.com/cilium/ebpf/asm"

// Page faults begin at trace points of exceptions. Where they end there is none, but the kernel reports each that it has handled
// as a software event of perf, after it has counted it; that works also where functions of the kernel cannot be traced.

// trapped is the program of each page fault before anything is done about it, of the program's own code or of the kernel's that
// copies from or to the program.
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

// faulted is the program of each page fault that was handled.
func faulted(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.current()
	c.syncOne(countMinor)
	c.syncOne(countMajor)
	c.add(
		load(asm.R1, rRow, faultOff, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "end"), // it began before there was a program to see it
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
