package threadstats

import "github.com/cilium/ebpf/asm"

// woken is the program of each thread that is woken: from then on it waits for a processor. It runs under the lock of the queue
// that the thread is put into, as the switch does that takes it from there.
func woken(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.wakened("end")
	c.add(
		load(asm.R1, rRow, WokenOff, asm.DWord),
		asm.JNE.Imm(asm.R1, 0, "end"),
	)
	c.beginChange()
	c.add(asm.FnKtimeGetNs.Call(), store(rRow, WokenOff, asm.R0, asm.DWord))
	c.endChange()
	c.leave("end")
	return c.list
}

// wakened begins a program of wake-ups: it finds the thread that is woken and its row, and puts into R1 since when it is off the processor. It goes
// to end where that is not known.
func (c *code) wakened(end string) {
	c.add(load(rTask, asm.R1, 0, asm.DWord))
	c.leaveUnlessWatched(end)
	c.find(end, end)
	c.add(
		load(asm.R1, rRow, SinceOff, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, end), // woken before it had gone
	)
}

// born is the program of each new thread's first wake-up, which its maker makes. It waits for a processor from then on. One that
// has its maker's thread pointer is not given a row: it may set one of its own soon, as Go's threads do.
func born(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.add(load(rTask, asm.R1, 0, asm.DWord))
	c.leaveUnlessWatched("end")
	c.clock()
	c.add(
		asm.FnGetCurrentTaskBtf.Call(),
		load(asm.R1, rTask, int(s.tgid), asm.Word),
		load(asm.R2, asm.R0, int(s.tgid), asm.Word),
		asm.JNE.Reg(asm.R1, asm.R2, "own"),
		load(asm.R1, rTask, int(s.fsbase), asm.DWord),
		load(asm.R2, asm.R0, int(s.fsbase), asm.DWord),
		asm.JEq.Reg(asm.R1, asm.R2, "shared"),
	)
	c.at("own")
	c.add(asm.Mov.Imm(asm.R0, 0))
	c.findOrMake("end")
	c.add(load(asm.R4, asm.R10, atNow, asm.DWord), asm.Mov.Imm(asm.R0, int32(BlockedOther)))
	c.begin()
	c.add(asm.Ja.Label("end"))
	c.at("shared")
	c.knowProcess("end")
	c.knowThread("end")
	c.add(
		load(asm.R1, rTask, int(s.fsbase), asm.DWord),
		store(rThread, threadKey, asm.R1, asm.DWord),
		load(asm.R1, rTask, int(s.pid), asm.Word),
		store(rThread, threadPid, asm.R1, asm.Word),
	)
	c.count(rContext, procShared, 1)
	c.leave("end")
	c.claim()
	return c.list
}
