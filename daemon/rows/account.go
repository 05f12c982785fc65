package rows

import "github.com/cilium/ebpf/asm"

// accountedFor is the program of each account that the scheduler makes of a thread that runs: at ticks, and when others are woken
// beside it. It runs under the lock of the processor's queue, as switches do.
func accountedFor(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.add(load(rTask, asm.R1, 0, asm.DWord))
	c.leaveUnlessWatched("end")
	c.clock()
	c.find("end", "end")
	c.unseen()
	c.offUntilNow()
	c.leave("end")
	return c.list
}
