package threadstats

import (
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// meet gives rows to the threads that a process has already: one that waits would have none until it is woken, and its wait would be
// seen by nobody. What it waits for counts from now on. Where the kernel has no walks over tasks they get theirs when they are
// switched.
func (k *Keeper) meet() error {
	if k.walker == nil {
		return nil
	}
	return walk(k.walker, func(r io.Reader) error {
		_, err := io.Copy(io.Discard, r)
		return explain("a walk over tasks", err)
	})
}

// loadWalker loads the program of the walk, where there are walks.
func (k *Keeper) loadWalker() error {
	if !k.shape.hasIterator {
		return nil
	}
	const name = "culprit_walk"
	loaded, err := k.loadAll(func() map[string]*ebpf.ProgramSpec {
		return map[string]*ebpf.ProgramSpec{name: {Name: name, Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "task", Instructions: meeting(k.shape, k.maps), License: license}}
	})
	if err != nil {
		return err
	}
	defer loaded.Close()
	k.walker = loaded.DetachProgram(name)
	return nil
}

// meeting is the program of the walk. A thread may be switched while it is looked at: if it came onto the processor meanwhile, what was
// written is taken back; if it has been there and left again, its switch has written over it.
func meeting(s *shape, m *maps) asm.Instructions {
	c := &code{shape: s, maps: m}
	c.add(asm.Mov.Reg(rContext, asm.R1), load(rTask, rContext, argWalked, asm.DWord), asm.JEq.Imm(rTask, 0, "end"))
	c.leaveUnlessWatched("end")
	c.clock()
	c.findOrMake("end")
	c.add(
		load(asm.R1, rRow, SinceOff, asm.DWord),
		asm.JNE.Imm(asm.R1, 0, "end"),
		load(asm.R1, rTask, int(s.onProcessor), asm.Word),
		asm.JNE.Imm(asm.R1, 0, "end"),
		load(asm.R3, rTask, int(s.state), asm.Word),
		asm.JEq.Imm(asm.R3, 0, "runnable"),
	)
	c.why()
	c.add(asm.Mov.Imm(asm.R4, 0), asm.Ja.Label("write"))
	c.at("runnable")
	c.add(asm.Mov.Imm(asm.R0, int32(Preempted)), load(asm.R4, asm.R10, atNow, asm.DWord))
	c.at("write")
	c.begin()
	c.add(
		load(asm.R1, rTask, int(s.onProcessor), asm.Word),
		asm.JEq.Imm(asm.R1, 0, "end"),
		load(asm.R0, asm.R10, atNow, asm.DWord),
		asm.Mov.Imm(asm.R1, 0),
		indivisible(asm.CmpXchg, rRow, SinceOff, asm.R1),
	)
	c.leave("end")
	c.claim()
	c.reason()
	return c.list
}
