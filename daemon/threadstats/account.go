package threadstats

import "github.com/cilium/ebpf/asm"

// Arguments of trace_sched_stat_runtime (kernel/sched/core.c): the task, and the time in ns that is accounted for now.
const (
	argTask = 0
	argRan  = 8
)

// shortRun is for what less time, in ns, an account is left out: those of threads that come and go in no time are the most by far, and
// their switches make up for them. Not where the switch to the thread was not seen: its row is put right by the first account.
const shortRun = 50_000

// accountedFor is the program of each account that the scheduler makes of a thread that runs: at ticks, when others are woken
// beside it, when it is switched, which has a program of its own, and when it asks for its processor time. It runs under the lock of the
// processor's queue, as switches do.
func accountedFor(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.add(load(rTask, asm.R1, argTask, asm.DWord), load(rContext, asm.R1, argRan, asm.DWord))
	c.leaveUnlessWatched("end")
	c.add(asm.JGE.Imm(rContext, shortRun, "long"))
	c.runningHere("long")
	c.add(
		load(asm.R1, asm.R0, 0, asm.Word),
		load(asm.R2, rTask, int(s.pid), asm.Word),
		asm.JEq.Reg(asm.R1, asm.R2, "end"),
	)
	c.at("long")
	c.clock()
	c.find("end", "end")
	c.unseen()
	c.offUntilNow()
	c.leave("end")
	return c.list
}

// runningHere finds the processor's word of maps.running, and goes to none where there is none; R0 is its address.
func (c *code) runningHere(none string) {
	c.add(asm.StoreImm(asm.R10, atKey, 0, asm.Word))
	c.lookup(c.maps.running, atKey)
	c.add(asm.JEq.Imm(asm.R0, 0, none))
}
