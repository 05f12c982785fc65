package threadstats

import "github.com/cilium/ebpf/asm"

// argCall is the number of the system call among the arguments of sys_enter.
const argCall = 8

// calling is the program of each system call's beginning: it counts the call, and notes the thread's processor time.
func calling(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.current()
	c.add(
		asm.Mov.Imm(asm.R3, 1),
		load(asm.R1, rContext, argCall, asm.DWord),
		asm.Mov.Imm(asm.R2, classOther),
		asm.JGE.Imm(asm.R1, maxCalls, "class"),
		asm.LoadMapValue(asm.R2, m.kinds.FD(), 0),
		asm.Add.Reg(asm.R2, asm.R1),
		load(asm.R2, asm.R2, 0, asm.Byte),
		asm.RSh.Imm(asm.R2, classShift),
	)
	c.at("class")
	c.addTo(SystemCalls, asm.R3, asm.R1)
	for class := int32(classFutex); class <= classMemory; class++ {
		next := c.name("next")
		c.add(asm.JNE.Imm(asm.R2, class, next))
		c.addTo(classes[class], asm.R3, asm.R1)
		c.at(next)
	}
	c.add(
		asm.FnKtimeGetNs.Call(),
		load(asm.R1, rRow, sum(OffCPU), asm.DWord),
		asm.Sub.Reg(asm.R0, asm.R1),
		store(rRow, callOff, asm.R0, asm.DWord),
	)
	c.leave("end")
	return c.list
}

// called is the program of each system call's end.
func called(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.current()
	if s.hasIO {
		c.syncOne(countRead)
		c.syncOne(countWrite)
	}
	c.add(
		load(asm.R1, rRow, callOff, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, "end"), // it began before this program was there
		zero(rRow, callOff),
		asm.Mov.Reg(rContext, asm.R1),
		asm.FnKtimeGetNs.Call(),
		load(asm.R1, rRow, sum(OffCPU), asm.DWord),
		asm.Sub.Reg(asm.R0, asm.R1),
		asm.Sub.Reg(asm.R0, rContext),
	)
	c.atLeastZero(asm.R0)
	c.addTo(SystemTime, asm.R0, asm.R1)
	c.leave("end")
	return c.list
}
