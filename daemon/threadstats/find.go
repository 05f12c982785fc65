package threadstats

import "github.com/cilium/ebpf/asm"

// findOrMake sets rThread and rRow for the task in rTask, and makes them if they are not there. It goes to none where the
// thread has no row.
func (c *code) findOrMake(none string) {
	make, have := c.name("make"), c.name("have")
	c.find(make, none)
	c.add(asm.Ja.Label(have))
	c.at(make)
	c.add(asm.Mov.Reg(asm.R1, rTask), asm.Call.Label("claim"))
	c.find(none, none)
	c.at(have)
	c.add(asm.Mov.Imm(asm.R0, 0))
}

// find sets rThread and rRow for the task in rTask, by what the thread remembers. It goes to stale where that is nothing or does
// not hold any more, and to none where the thread has no row and will not get one.
func (c *code) find(stale, none string) {
	has := c.name("has")
	c.add(
		asm.LoadMapPtr(asm.R1, c.maps.threads.FD()),
		asm.Mov.Reg(asm.R2, rTask),
		asm.Mov.Imm(asm.R3, 0),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnTaskStorageGet.Call(),
		asm.JEq.Imm(asm.R0, 0, stale),
		asm.Mov.Reg(rThread, asm.R0),
		load(asm.R1, rTask, int(c.shape.fsbase), asm.DWord),
		load(asm.R2, rThread, threadKey, asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R2, stale),
		load(asm.R1, rThread, threadIndex, asm.Word),
		asm.JNE.Imm(asm.R1, 0, has),
		load(asm.R2, rThread, threadFlags, asm.Word),
		asm.And.Imm(asm.R2, flagExhausted), // a row may have been given back since
		asm.JNE.Imm(asm.R2, 0, stale),
		asm.Ja.Label(none),
	)
	c.at(has)
	c.add(
		asm.Sub.Imm(asm.R1, 1),
		store(asm.R10, atIndex, asm.R1, asm.Word),
		load(asm.R1, rThread, threadTable, asm.Word),
		store(asm.R10, atPlace, asm.R1, asm.Word),
	)
	c.lookup(c.maps.tables, atPlace)
	c.add(asm.JEq.Imm(asm.R0, 0, stale), asm.Mov.Reg(asm.R1, asm.R0)) // its process may be watched again, with its rows elsewhere
	c.row(atIndex, stale)
	c.add(
		asm.Mov.Reg(rRow, asm.R0),
		load(asm.R1, rThread, threadKey, asm.DWord),
		load(asm.R2, rRow, KeyOff, asm.DWord),
		asm.JNE.Reg(asm.R1, asm.R2, stale),
		load(asm.R1, rThread, threadPid, asm.Word),
		load(asm.R2, rRow, ownerOff, asm.Word),
		asm.RSh.Imm(asm.R2, ownerShift),
		asm.JNE.Reg(asm.R1, asm.R2, stale),
	)
}

// row finds the row whose index is in the frame, in the table in R1; R0 is it.
func (c *code) row(at int, none string) {
	c.add(asm.Mov.Reg(asm.R2, asm.R10), asm.Add.Imm(asm.R2, int32(at)), asm.FnMapLookupElem.Call(), asm.JEq.Imm(asm.R0, 0, none))
}
