package contexts

import (
	"fmt"

	"culprit/daemon/arch"
	"culprit/daemon/process"
	"culprit/daemon/stack"
)

// An ownedStack is where a thread's stack pointer is as long as it runs on its own stack: below the thread's control block in the mapping
// of that, where C libraries put it, or in the stack that the kernel has made for the first thread.
type ownedStack struct{ lo, hi, fs uint64 }

// ownStack is the stack of a thread.
func ownStack(th *process.Stopped, leader bool, maps []process.Mapping) (s ownedStack) {
	s.fs = arch.ThreadPointer(&th.Regs)
	for _, m := range maps {
		switch {
		case leader && m.Path == "[stack]":
			return ownedStack{uint64(m.Start), uint64(m.End), s.fs}
		case !leader && m.Contains(process.Addr(s.fs)):
			return ownedStack{uint64(m.Start), s.fs, s.fs}
		}
	}
	return s
}

// nearBlock is how far below its control block a thread is on its own stack without a look at the mappings: no stack is smaller.
const nearBlock = 16 << 10

// nearTop is the part of a thread's stack right below its control block.
func nearTop(th *process.Stopped) ownedStack {
	fs := arch.ThreadPointer(&th.Regs)
	return ownedStack{fs - min(fs, nearBlock), fs, fs}
}

func (s ownedStack) holds(sp uint64) bool { return sp >= s.lo && sp < s.hi }

// Look is a stops.Check: it looks for a thread that runs on a stack which is not its own, as long as the program was not found to schedule
// contexts.
func (c *Contexts) Look(w *process.World) error {
	if c.why != "" {
		return nil
	}
	tid := c.onForeignStack(w)
	if err := c.cfg.Stops.Missing(); err != nil || tid == 0 {
		return err
	}
	if c.seg == nil {
		c.foreign = tid // nothing is patched before handlers are looked at
		return nil
	}
	list, err := c.handlers(w)
	exchange := err != nil
	for _, h := range list {
		verdict, ok := c.verdict(h)
		if !ok {
			c.caught = 0 // nobody has seen yet what these handlers do
			return &unjudged{c, list}
		}
		exchange = exchange || verdict
	}
	if exchange {
		c.Schedules(foreignStack(tid))
	}
	return nil
}

func foreignStack(tid int) string {
	return fmt.Sprintf("thread %d runs on a stack that is not its own, and there are signal handlers", tid)
}

// onForeignStack is a thread that runs on a stack which is not its own; 0 if there is none.
func (c *Contexts) onForeignStack(w *process.World) (tid int) {
	maps := stackMaps{w: w}
	stacks := make(map[int]ownedStack, len(w.Threads()))
	for i, th := range w.Threads() {
		own, known := c.stacks[th.TID]
		if near := nearTop(th); !known && near.holds(arch.SP(&th.Regs)) {
			own, known = near, true
		}
		if !known || own.fs != arch.ThreadPointer(&th.Regs) || !own.holds(arch.SP(&th.Regs)) {
			leader := th.TID == c.cfg.Proc.PID()
			near, err := maps.of(th, leader)
			if err != nil {
				return 0
			}
			own = ownStack(th, leader, near)
		}
		stacks[th.TID] = own
		if own.hi != 0 && !own.holds(arch.SP(&th.Regs)) && !c.comesBack(i, th, own) {
			tid = th.TID
		}
	}
	c.stacks = stacks
	return tid
}

// stackMaps are the mappings of a stopped process, as far as stacks are looked for in them.
type stackMaps struct {
	w   *process.World
	all []process.Mapping // if they were read
}

// of are mappings among which that of a thread's stack is. The leader is mostly on its own: to ask for one mapping takes microseconds, to read all
// half a millisecond.
func (s *stackMaps) of(th *process.Stopped, leader bool) (maps []process.Mapping, err error) {
	if leader && s.all == nil {
		at, err := s.w.MappingsAt([]process.Addr{process.Addr(arch.SP(&th.Regs))})
		if err == nil && at[0].Path == "[stack]" {
			return at, nil
		}
	}
	if s.all == nil {
		s.all, err = s.w.Maps()
	}
	return s.all, err
}

// comesBack reports whether a thread, by its number, that is on another stack than its own is there for a while only: in a handler on a stack for signals,
// or in Go code, whose goroutines have stacks of their own and are not patched.
func (c *Contexts) comesBack(i int, th *process.Stopped, own ownedStack) bool {
	if o := c.cfg.Code.ObjectAt(arch.PC(&th.Regs)); o != nil && o.IsGo() {
		return true
	}
	if at := stack.RegsOf(th); c.seg != nil && c.seg.Contains(at.RIP) && !c.cfg.Walker.Detours.Leave(&at) {
		return true // in a trampoline that is being left, from where nothing can be told
	}
	return own.holds(c.cfg.Stops.View().Walk(i).End)
}
