package threadstats

import (
	"github.com/cilium/ebpf/asm"

	"culprit/internal/procfs"
)

// workerFlags are those of tasks that run in the kernel on behalf of a process: they have the thread pointer of the thread that made them.
const workerFlags = procfs.WorkerFlags

// exitingFlag is that of tasks that end (PF_EXITING): the kernel has taken their thread pointer away already (deactivate_mm).
const exitingFlag = 0x4

// storageCreate is BPF_LOCAL_STORAGE_GET_F_CREATE.
const storageCreate = 1

// claim is a function of the programs: it gives the task in R1 a row, if its process is watched and it has a thread pointer.
// Afterwards find tells whether it worked. In it rContext is the process's value and rTask, rThread, rRow are as elsewhere.
func (c *code) claim() {
	c.at("claim")
	c.add(asm.Mov.Reg(rTask, asm.R1))
	c.knowProcess("claim_end")
	c.knowThread("claim_end")
	c.leaveOldRow("claim_end")
	c.keyless("claim_end")
	c.search()
	c.exhausted("claim_end")
	c.take("claim_end")
	c.leave("claim_end")
}

// knowProcess sets rContext to the process's value, and leaves where the process is not watched, or where another has its number
// now.
func (c *code) knowProcess(end string) {
	const rProcess = rContext
	same := c.name("same")
	c.add(
		load(asm.R1, rTask, int(c.shape.flags), asm.Word),
		asm.And.Imm(asm.R1, workerFlags),
		asm.JNE.Imm(asm.R1, 0, end),
		load(asm.R1, rTask, int(c.shape.tgid), asm.Word),
		store(asm.R10, atProcess, asm.R1, asm.Word),
	)
	c.lookup(c.maps.processes, atProcess)
	c.add(
		asm.JEq.Imm(asm.R0, 0, end),
		asm.Mov.Reg(rProcess, asm.R0),
		load(asm.R1, rTask, int(c.shape.leader), asm.DWord),
		load(asm.R1, asm.R1, int(c.shape.startTime), asm.DWord),
		load(asm.R2, rProcess, procStart, asm.DWord),
		asm.JEq.Reg(asm.R1, asm.R2, same),
		asm.JNE.Imm(asm.R2, 0, end),
		store(rProcess, procStart, asm.R1, asm.DWord),
	)
	c.at(same)
	c.add(load(asm.R1, rProcess, procTable, asm.Word), store(asm.R10, atPlace, asm.R1, asm.Word))
	c.lookup(c.maps.tables, atPlace)
	c.add(asm.JEq.Imm(asm.R0, 0, end), store(asm.R10, atTable, asm.R0, asm.DWord))
}

// knowThread sets rThread to what is remembered of the thread; what is new remembers the counts of now.
func (c *code) knowThread(end string) {
	known := c.name("known")
	c.add(
		asm.LoadMapPtr(asm.R1, c.maps.threads.FD()),
		asm.Mov.Reg(asm.R2, rTask),
		asm.Mov.Imm(asm.R3, 0),
		asm.Mov.Imm(asm.R4, storageCreate),
		asm.FnTaskStorageGet.Call(),
		asm.JEq.Imm(asm.R0, 0, end),
		asm.Mov.Reg(rThread, asm.R0),
		load(asm.R1, rThread, threadPid, asm.Word),
		asm.JNE.Imm(asm.R1, 0, known),
	)
	c.countsOfNow()
	c.add(asm.StoreImm(rThread, threadLast, int64(BlockedOther), asm.Word))
	c.at(known)
	c.add(asm.Mov.Imm(asm.R0, 0))
}

// countsOfNow remembers what the kernel has counted of the thread: only what comes is added to its row.
func (c *code) countsOfNow() {
	for i := range countedWords {
		if c.counts(i) {
			c.add(load(asm.R1, rTask, int(c.shape.counts[i]), asm.DWord), store(rThread, threadCount+8*i, asm.R1, asm.DWord))
		}
	}
}

// counts says whether the kernel has the counted word.
func (c *code) counts(i int) bool { return i != countRead && i != countWrite || c.shape.hasIO }

// leaveOldRow lets go of the row that the thread had under another thread pointer, and takes along what is going on just now. It
// notes in the frame whether the thread has lost its row to another with the same pointer, and remembers the new pointer.
func (c *code) leaveOldRow(end string) {
	gone := c.name("gone")
	c.add(zero(asm.R10, atSince), zero(asm.R10, atWoken), zero(asm.R10, atReason), zero(asm.R10, atLost))
	c.add(
		load(asm.R3, rTask, int(c.shape.fsbase), asm.DWord),
		store(asm.R10, atKey, asm.R3, asm.DWord),
		load(asm.R2, rThread, threadIndex, asm.Word),
		asm.JEq.Imm(asm.R2, 0, gone),
		asm.Sub.Imm(asm.R2, 1),
		store(asm.R10, atIndex, asm.R2, asm.Word),
		load(asm.R1, asm.R10, atTable, asm.DWord),
	)
	c.row(atIndex, gone)
	c.add(
		asm.Mov.Reg(rRow, asm.R0),
		load(asm.R1, rThread, threadKey, asm.DWord),
		load(asm.R2, rRow, KeyOff, asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R2, gone),
		load(asm.R3, asm.R10, atKey, asm.DWord),
	)
	other := c.name("other")
	c.add(
		asm.JNE.Reg(asm.R1, asm.R3, other),
		number(asm.R10, atLost, 1), // the same pointer, and find has not found it: somebody else owns the row
		asm.Ja.Label(gone),
	)
	c.at(other)
	c.add(
		load(asm.R1, rRow, ownerOff, asm.Word),
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.RSh.Imm(asm.R2, ownerShift),
		load(asm.R3, rThread, threadPid, asm.Word),
		asm.JNE.Reg(asm.R2, asm.R3, gone),
		asm.And.Imm(asm.R1, reasonMask|ioBit),
		store(asm.R10, atReason, asm.R1, asm.DWord),
		load(asm.R1, rRow, SinceOff, asm.DWord),
		store(asm.R10, atSince, asm.R1, asm.DWord),
		load(asm.R1, rRow, WokenOff, asm.DWord),
		store(asm.R10, atWoken, asm.R1, asm.DWord),
	)
	c.beginChange()
	c.add(zero(rRow, SinceOff), zero(rRow, WokenOff), zero(rRow, callOff), zero(rRow, faultOff), asm.StoreImm(rRow, ownerOff, 0, asm.Word))
	c.endChange()
	c.at(gone)
	c.add(
		load(asm.R1, asm.R10, atKey, asm.DWord),
		store(rThread, threadKey, asm.R1, asm.DWord),
		asm.StoreImm(rThread, threadIndex, 0, asm.Word),
		load(asm.R1, rTask, int(c.shape.pid), asm.Word),
		store(rThread, threadPid, asm.R1, asm.Word),
	)
}

// keyless leaves with threads that have no thread pointer, and counts each once, as long as it has none.
func (c *code) keyless(end string) {
	const rProcess = rContext
	keyed, on := c.name("keyed"), c.name("on")
	c.add(
		load(asm.R3, rThread, threadFlags, asm.Word),
		asm.Mov.Reg(asm.R4, asm.R3),
		asm.And.Imm(asm.R4, flagKeyless),
		load(asm.R2, asm.R10, atKey, asm.DWord),
		asm.JGT.Imm(asm.R2, freed, keyed),
		asm.JNE.Imm(asm.R4, 0, end),
		load(asm.R1, rTask, int(c.shape.flags), asm.Word),
		asm.And.Imm(asm.R1, exitingFlag),
		asm.JNE.Imm(asm.R1, 0, end),
		asm.Or.Imm(asm.R3, flagKeyless),
		store(rThread, threadFlags, asm.R3, asm.Word),
	)
	c.count(rProcess, procKeyless, 1)
	c.add(asm.Ja.Label(end))
	c.at(keyed)
	c.add(asm.JEq.Imm(asm.R4, 0, on), asm.Xor.Imm(asm.R3, flagKeyless), store(rThread, threadFlags, asm.R3, asm.Word))
	c.count(rProcess, procKeyless, -1)
	c.at(on)
	c.add(asm.Mov.Imm(asm.R0, 0))
}

// search sets rRow to the row of the thread pointer, which is claimed if there is none, and its index in the frame; it falls
// through where there is no room. First the pointer is looked for as far as the row that was never used, then the first row that
// nobody has is claimed: a row that was freed may lie before the one that is there. A thread may be met and switched at the same
// time; whoever comes second finds the row that the first has claimed.
func (c *code) search() {
	c.places("there", func(next, done string) {
		c.add(
			asm.JEq.Reg(asm.R1, asm.R2, "claimed"),
			asm.JEq.Imm(asm.R1, 0, done),
		)
	})
	c.places("free", func(next, done string) {
		c.add(
			asm.JEq.Reg(asm.R1, asm.R2, "claimed"),
			asm.JGT.Imm(asm.R1, freed, next),
			asm.Mov.Reg(asm.R0, asm.R1),
			indivisible(asm.CmpXchg, rRow, KeyOff, asm.R2),
			asm.JEq.Reg(asm.R0, asm.R1, "claimed"),
			asm.JEq.Reg(asm.R0, asm.R2, "claimed"),
		)
	})
}

// places looks at one place after the other; try finds the row in rRow, its key in R1 and the thread pointer in R2.
func (c *code) places(what string, try func(next, done string)) {
	const rProcess = rContext
	again, next, done := c.name(what), c.name(what+"_next"), c.name(what+"_done")
	c.beginLoop(atPlace)
	c.at(again)
	c.loop(done)
	c.add(
		load(asm.R1, asm.R10, atKey, asm.DWord),
		asm.Mul.Imm32(asm.R1, int32(hashFactor-1<<32)),
		load(asm.R2, rProcess, procShift, asm.Word),
		asm.RSh.Reg32(asm.R1, asm.R2),
		load(asm.R2, asm.R10, atPlace, asm.DWord),
		asm.Add.Reg(asm.R1, asm.R2),
		load(asm.R2, rProcess, procMask, asm.Word),
		asm.And.Reg(asm.R1, asm.R2),
		store(asm.R10, atIndex, asm.R1, asm.Word),
		load(asm.R1, asm.R10, atTable, asm.DWord),
	)
	c.row(atIndex, done)
	c.add(
		asm.Mov.Reg(rRow, asm.R0),
		load(asm.R1, rRow, KeyOff, asm.DWord),
		load(asm.R2, asm.R10, atKey, asm.DWord),
	)
	try(next, done)
	c.at(next)
	c.add(
		load(asm.R1, asm.R10, atPlace, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		store(asm.R10, atPlace, asm.R1, asm.DWord),
		asm.JLT.Imm(asm.R1, probes, again),
	)
	c.at(done)
	c.add(asm.Mov.Imm(asm.R0, 0))
}

// exhausted leaves with threads for which there is no row, and counts each once.
func (c *code) exhausted(end string) {
	const rProcess = rContext
	c.add(
		load(asm.R3, rThread, threadFlags, asm.Word),
		asm.Mov.Reg(asm.R4, asm.R3),
		asm.And.Imm(asm.R4, flagExhausted),
		asm.JNE.Imm(asm.R4, 0, end),
		asm.Or.Imm(asm.R3, flagExhausted),
		store(rThread, threadFlags, asm.R3, asm.Word),
	)
	c.count(rProcess, procExhausted, 1)
	c.add(asm.Ja.Label(end))
}

// base remembers the clock at which the sum of the row and what the thread has run were both 0, had they begun together: from then on
// the sum is what the clock has more than the thread's time.
func (c *code) base() {
	now := c.name("now")
	c.add(
		load(asm.R0, asm.R10, atSince, asm.DWord),
		asm.JNE.Imm(asm.R0, 0, now),
		asm.FnKtimeGetNs.Call(),
	)
	c.at(now)
	c.add(
		load(asm.R1, rTask, int(c.shape.ran), asm.DWord),
		asm.Sub.Reg(asm.R0, asm.R1),
		load(asm.R1, rRow, sum(OffCPU), asm.DWord),
		asm.Sub.Reg(asm.R0, asm.R1),
		store(rThread, threadBase, asm.R0, asm.DWord),
	)
}

// take makes the thread the owner of the row in rRow. A thread that ends may own it still when the next one with its pointer
// starts: C libraries wait only until the kernel does not need the stack any more. So the newer one wins, and one that has lost
// its row does not take it back. One whose row nobody owns takes it as if it were new: what it did meanwhile is in no row.
func (c *code) take(end string) {
	const rProcess = rContext
	mine, again := c.name("mine"), c.name("again")
	c.at("claimed")
	c.add(
		load(asm.R1, asm.R10, atLost, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, mine),
		load(asm.R1, rRow, ownerOff, asm.Word),
		asm.RSh.Imm(asm.R1, ownerShift),
		asm.JEq.Imm(asm.R1, 0, again),
		load(asm.R1, rTask, int(c.shape.flags), asm.Word),
		asm.And.Imm(asm.R1, exitingFlag),
		asm.JNE.Imm(asm.R1, 0, end),
	)
	c.count(rProcess, procShared, 1)
	c.add(asm.Ja.Label(end))
	c.at(again)
	c.countsOfNow()
	c.add(zero(rThread, threadIn), zero(rThread, threadDebt))
	c.at(mine)
	c.base()
	c.beginChange()
	c.add(
		load(asm.R1, asm.R10, atSince, asm.DWord),
		store(rRow, SinceOff, asm.R1, asm.DWord),
		load(asm.R1, asm.R10, atWoken, asm.DWord),
		store(rRow, WokenOff, asm.R1, asm.DWord),
		zero(rRow, callOff),
		zero(rRow, faultOff),
		load(asm.R1, rThread, threadPid, asm.Word),
		asm.LSh.Imm(asm.R1, ownerShift),
		load(asm.R2, asm.R10, atReason, asm.DWord),
		asm.Or.Reg(asm.R1, asm.R2),
		store(rRow, ownerOff, asm.R1, asm.Word),
	)
	c.endChange()
	c.add(
		load(asm.R1, asm.R10, atIndex, asm.Word),
		asm.Add.Imm(asm.R1, 1),
		store(rThread, threadIndex, asm.R1, asm.Word),
		load(asm.R1, rProcess, procTable, asm.Word),
		store(rThread, threadTable, asm.R1, asm.Word),
	)
}
