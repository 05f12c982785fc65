package threadstats

import "github.com/cilium/ebpf/asm"

// Arguments of trace_sched_switch (kernel/sched/core.c): whether the thread was made to leave, the tasks, the state of the first.
const (
	argForced = 0
	argPrev   = 8
	argNext   = 16
	argState  = 24
)

// switches is the program of each switch on each processor. It runs under the lock of the processor's queue, between the two
// threads: what it writes into the row of either is there before that thread's next instruction.
func switches(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.add(asm.Mov.Reg(rContext, asm.R1), load(rTask, rContext, argPrev, asm.DWord))
	c.leaveUnlessWatched("only_next")
	c.clock()
	c.findOrMake("next")
	c.out("next")
	c.at("only_next")
	c.add(asm.Mov.Imm(asm.R0, 0))
	c.at("next")
	c.add(load(rTask, rContext, argNext, asm.DWord))
	c.runningHere("nowhere")
	c.add(load(asm.R1, rTask, int(s.pid), asm.Word), store(asm.R0, 0, asm.R1, asm.Word))
	c.at("nowhere")
	c.leaveUnlessWatched("end")
	c.find("end", "end") // who has no row gets one when it leaves: to look for one twice takes the kernel long to check
	c.in()
	c.leave("end")
	c.claim()
	c.reason()
	return c.list
}

// offUntilNow sets the time off the processor to what of the clock was not the thread's, by what the scheduler has accounted up to
// this moment. So it has what the hypervisor and interrupts took from a thread while it was on the processor as well, as
// CLOCK_THREAD_CPUTIME_ID leaves both out. Accounts are a little older than the clock: it never goes back for that.
func (c *code) offUntilNow() {
	later := c.name("later")
	c.add(
		load(asm.R1, asm.R10, atNow, asm.DWord),
		load(asm.R2, rTask, int(c.shape.ran), asm.DWord),
		asm.Sub.Reg(asm.R1, asm.R2),
		load(asm.R2, rThread, threadBase, asm.DWord),
		asm.Sub.Reg(asm.R1, asm.R2),
		load(asm.R2, rRow, sum(OffCPU), asm.DWord),
		asm.JSLE.Reg(asm.R1, asm.R2, later),
		store(rRow, sum(OffCPU), asm.R1, asm.DWord),
	)
	c.at(later)
	c.add(asm.Mov.Imm(asm.R1, 0))
}

// out notes that the thread leaves the processor, from when on, and why.
func (c *code) out(end string) {
	runnable, write, dead := c.name("runnable"), c.name("write"), c.name("dead")
	c.unseen()
	c.sync()
	c.stolen()
	c.add(
		load(asm.R3, rContext, argState, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R3),
		asm.And.Imm(asm.R1, stateDead),
		asm.JNE.Imm(asm.R1, 0, dead),
		load(asm.R1, rContext, argForced, asm.DWord),
		asm.And.Imm(asm.R1, 0xff),
		asm.JNE.Imm(asm.R1, 0, runnable),
		asm.JEq.Imm(asm.R3, 0, runnable),
	)
	c.why()
	c.add(asm.Mov.Imm(asm.R4, 0), asm.Ja.Label(write))
	c.at(runnable)
	c.add(asm.Mov.Imm(asm.R0, int32(Preempted)), load(asm.R4, asm.R10, atNow, asm.DWord))
	c.at(write)
	c.begin()
	c.add(asm.Ja.Label(end))
	c.at(dead)
	c.beginChange()
	c.add(asm.StoreImm(rRow, ownerOff, 0, asm.Word), zero(rRow, callOff), zero(rRow, faultOff))
	c.endChange()
	c.add(asm.Ja.Label(end))
}

// why sets R0 to the reason for which the thread waits that goes into the state in R3.
func (c *code) why() {
	quick := c.name("quick")
	c.add(
		asm.Mov.Reg(asm.R1, rTask),
		asm.Mov.Reg(asm.R2, rThread),
		asm.Call.Label("reason"),
		load(asm.R1, rTask, int(c.shape.iowait), asm.Byte),
		asm.And.Imm(asm.R1, c.shape.iowaitMask),
		asm.JEq.Imm(asm.R1, 0, quick),
		asm.Or.Imm(asm.R0, ioBit),
	)
	c.at(quick)
}

// callsFiltered are the bits of a thread's syscall_work for a filter and for a program that wants to have its system calls itself.
const callsFiltered = 1<<0 | 1<<5

// begin writes that the thread is off the processor from now on, for the reason in R0, and can run from the instant in R4 on.
func (c *code) begin() {
	free := c.name("free")
	c.beginChange()
	c.offUntilNow()
	c.add(
		load(asm.R1, asm.R10, atNow, asm.DWord),
		asm.And.Imm(asm.R1, ^FilteredBit),
		load(asm.R2, rTask, int(c.shape.atCalls), asm.DWord),
		asm.And.Imm(asm.R2, callsFiltered),
		asm.JEq.Imm(asm.R2, 0, free),
		asm.Or.Imm(asm.R1, FilteredBit),
	)
	c.at(free)
	c.add(
		store(rRow, SinceOff, asm.R1, asm.DWord),
		store(rRow, WokenOff, asm.R4, asm.DWord),
		load(asm.R1, rThread, threadPid, asm.Word),
		asm.LSh.Imm(asm.R1, ownerShift),
		asm.Or.Reg(asm.R1, asm.R0),
		store(rRow, ownerOff, asm.R1, asm.Word),
	)
	c.endChange()
	c.add(load(asm.R1, rTask, int(c.shape.ran), asm.DWord), store(rThread, threadLeft, asm.R1, asm.DWord))
}

// sync adds to the row what the kernel has counted of the thread since the last time. The word that was added last is exchanged,
// so that a switch in the midst of the same on behalf of a fault adds nothing twice.
func (c *code) sync() {
	for i := range countedWords {
		if c.counts(i) {
			c.syncOne(i)
		}
	}
}

func (c *code) syncOne(i int) {
	same := c.name("same")
	c.add(
		load(asm.R1, rTask, int(c.shape.counts[i]), asm.DWord),
		load(asm.R2, rThread, threadCount+8*i, asm.DWord),
		asm.JEq.Reg(asm.R1, asm.R2, same),
		asm.Mov.Reg(asm.R2, asm.R1),
		indivisible(asm.Xchg, rThread, threadCount+8*i, asm.R2),
		asm.Sub.Reg(asm.R1, asm.R2),
		indivisible(asm.AddAtomic, rRow, sum(counted[i]), asm.R1),
	)
	c.at(same)
}

// stolen adds what the thread was on the processor and, as the kernel has charged it just now, did not run. The switch itself is
// charged to one thread or the other as it happens: less than nothing is kept, and taken off the next time.
func (c *code) stolen() {
	none, debt := c.name("none"), c.name("debt")
	c.add(
		load(asm.R1, rThread, threadIn, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, none),
		load(asm.R3, asm.R10, atNow, asm.DWord),
		asm.Sub.Reg(asm.R3, asm.R1),
		load(asm.R1, rTask, int(c.shape.ran), asm.DWord),
		load(asm.R2, rThread, threadRan, asm.DWord),
		asm.Sub.Reg(asm.R1, asm.R2),
		asm.Sub.Reg(asm.R3, asm.R1),
		load(asm.R1, rThread, threadDebt, asm.DWord),
		asm.Add.Reg(asm.R3, asm.R1),
		asm.JSLE.Imm(asm.R3, 0, debt),
	)
	c.addTo(Stolen, asm.R3, asm.R1)
	c.add(asm.Mov.Imm(asm.R3, 0))
	c.at(debt)
	c.add(store(rThread, threadDebt, asm.R3, asm.DWord))
	c.at(none)
}

// in adds what has passed since the thread left the processor. The clock is read within the change: a hypervisor may take the
// processor away between the two, and a reader that went on with its own clock meanwhile would have counted more than there was.
func (c *code) in() {
	done := c.name("done")
	c.beginChange()
	c.clock()
	c.add(
		asm.Mov.Reg(asm.R5, asm.R0),
		store(rThread, threadIn, asm.R5, asm.DWord),
		load(asm.R1, rTask, int(c.shape.ran), asm.DWord),
		store(rThread, threadRan, asm.R1, asm.DWord),
		load(asm.R3, rRow, SinceOff, asm.DWord),
		asm.JEq.Imm(asm.R3, 0, done),
		load(asm.R4, rRow, WokenOff, asm.DWord),
	)
	c.account()
	c.at(done)
	c.endChange()
}

// unseen makes up for a switch to the thread that no trace point has told: of some kernels that run in virtual machines up to one of
// a hundred. The thread leaves the processor now, and its row says that it has been away; it came back when it had run as long, before
// now, as the kernel has charged it since it left.
func (c *code) unseen() {
	seen, after, woken := c.name("seen"), c.name("after"), c.name("woken")
	c.add(load(asm.R3, rRow, SinceOff, asm.DWord), asm.JEq.Imm(asm.R3, 0, seen))
	c.beginChange()
	c.add(
		load(asm.R5, asm.R10, atNow, asm.DWord),
		load(asm.R1, rTask, int(c.shape.ran), asm.DWord),
		load(asm.R2, rThread, threadLeft, asm.DWord),
		store(rThread, threadRan, asm.R2, asm.DWord),
		asm.Sub.Reg(asm.R1, asm.R2),
		asm.Sub.Reg(asm.R5, asm.R1),
		asm.JSGE.Reg(asm.R5, asm.R3, after),
		asm.Mov.Reg(asm.R5, asm.R3),
	)
	c.at(after)
	c.add(
		load(asm.R4, rRow, WokenOff, asm.DWord),
		asm.JSGE.Reg(asm.R5, asm.R4, woken),
		asm.Mov.Reg(asm.R5, asm.R4),
	)
	c.at(woken)
	c.add(store(rThread, threadIn, asm.R5, asm.DWord))
	c.account()
	c.endChange()
	c.add(load(asm.R1, rTask, int(c.shape.tgid), asm.Word), store(asm.R10, atProcess, asm.R1, asm.Word))
	c.lookup(c.maps.processes, atProcess)
	c.add(asm.JEq.Imm(asm.R0, 0, seen))
	c.count(asm.R0, procUnseen, 1)
	c.at(seen)
	c.add(asm.Mov.Imm(asm.R0, 0))
}

// account adds the time from R3, when the thread left, to R5, when it came back, having been woken at R4 if that is not 0. Clocks of two
// processors may differ by less than they say; what would be negative is nothing.
func (c *code) account() {
	woken, forced, add, waited := c.name("woken"), c.name("forced"), c.name("add"), c.name("waited")
	c.add(asm.JNE.Imm(asm.R4, 0, woken), asm.Mov.Reg(asm.R4, asm.R5))
	c.at(woken)
	c.offUntilNow()
	c.add(asm.Mov.Reg(asm.R0, asm.R5), asm.Sub.Reg(asm.R0, asm.R4))
	c.atLeastZero(asm.R0)
	c.addTo(RunQueueWait, asm.R0, asm.R1)
	c.add(
		load(asm.R2, rRow, ownerOff, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R2),
		asm.And.Imm(asm.R2, reasonMask),
		asm.JEq.Imm(asm.R2, int32(Preempted), forced),
		asm.Mov.Reg(asm.R0, asm.R4),
		asm.Sub.Reg(asm.R0, asm.R3),
	)
	c.atLeastZero(asm.R0)
	c.add(asm.And.Imm(asm.R1, ioBit), asm.JEq.Imm(asm.R1, 0, add))
	c.addTo(BlockTime, asm.R0, asm.R1)
	c.at(add)
	c.add(
		asm.JLT.Imm(asm.R2, int32(BlockedFutex), waited),
		asm.JGT.Imm(asm.R2, int32(BlockedOther), waited),
		asm.LSh.Imm(asm.R2, 3),
		asm.Mov.Reg(asm.R3, rRow),
		asm.Add.Reg(asm.R3, asm.R2),
		load(asm.R1, asm.R3, firstOff, asm.DWord),
		asm.Add.Reg(asm.R1, asm.R0),
		store(asm.R3, firstOff, asm.R1, asm.DWord),
		asm.Ja.Label(waited),
	)
	c.at(forced)
	c.addTo(Preempted, asm.R0, asm.R1)
	c.at(waited)
	c.add(zero(rRow, SinceOff), zero(rRow, WokenOff))
}

// atLeastZero makes what is negative nothing.
func (c *code) atLeastZero(r asm.Register) {
	fine := c.name("fine")
	c.add(asm.JSGE.Imm(r, 0, fine), asm.Mov.Imm(r, 0))
	c.at(fine)
}
