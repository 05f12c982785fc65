package target

import (
	"culprit/daemon/arch"
	"culprit/daemon/image/unwind"
	"culprit/daemon/stack"
	"culprit/trampoline"
)

// detours are where probes lead threads: they are stack.Detours.
type detours struct{ c *Code }

// Holds reports whether an address lies in memory of ours.
func (d detours) Holds(pc uint64) bool { return d.c.Seg != nil && d.c.Seg.Contains(pc) }

// Leave puts a thread that is inside one of our trampolines back to the instruction that it was about to do.
func (d detours) Leave(r *unwind.Regs) bool {
	orig, pushed, ok := d.c.Text.Original(r.RIP)
	if ok {
		r.RIP = orig
		r.RSP += uint64(pushed)
	}
	return ok
}

// LeaveCall leads from a function that a probe has called back into the probe's trampoline.
func (d detours) LeaveCall(r *unwind.Regs, mem stack.Reader) bool {
	seg := d.c.Seg
	if seg == nil || !seg.ReturnsFromCall(r.RIP) || r.Lost&(1<<arch.RBP) != 0 {
		return false
	}
	var frame [3]uint64 // where the probe goes on, rbp, rbx
	for i := range frame {
		var err error
		if frame[i], err = mem(r.RBP + uint64(8*i)); err != nil {
			return false
		}
	}
	if !seg.Contains(frame[0]) {
		return false
	}
	r.RIP, r.RSP, r.Exact = frame[0], r.RBP+trampoline.FrameArgs, true
	r.RBP, r.RBX = frame[1], frame[2]
	r.Lost &^= 1 << arch.RBX
	return true
}
