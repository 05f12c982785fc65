package resume

import (
	"maps"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// Waits under a filter of system calls.
//
// A timed wait that we break into (poll, nanosleep, clock_nanosleep, futex) is left with ERESTART_RESTARTBLOCK: the kernel makes
// restart_syscall for the thread, a call that the program never made and its filter may answer with death. Where a filter does not
// certainly let it pass, the wait itself is made again, which the filter let pass before, with its full timeout. When it is over is kept
// meanwhile, so that it then ends as if its time had run out: it is late by less than its own timeout.

// A brokenWait is what was seen of a thread that goes on waiting with restart_syscall: the registers then say no more which call it was.
type brokenWait struct {
	regs  unix.PtraceRegs
	begun time.Duration // on the monotonic clock
}

// Keep makes sure that what the kernel does next for a thread that was broken out of a call does not meet a filter. It changes the
// registers of the stop only and reports whether it did.
func (c *Calls) Keep(tr *raw.Tracee) bool {
	r := &tr.Regs
	if !InSyscall(r) {
		delete(c.waits, tr.TID)
		return false
	}
	filters := filtersOf(c.pid, tr.TID)
	next := uint64(uint32(r.Orig_rax))
	if int64(r.Rax) == errRestartBlock {
		next = unix.SYS_RESTART_SYSCALL
	}
	if !filters.present || filters.allow(next, r) {
		c.remember(tr)
		return false
	}
	if int64(r.Rax) != errRestartBlock {
		if filters.unknown || filters.ask(next, r) {
			return false // it has passed before, or its supervisor gets it once more
		}
		r.Rax = resultOf(unix.EINTR) // this filter has come since
		return true
	}
	c.waitAgain(tr, c.beginning(tr), &filters)
	return true
}

// remember notes which call a thread is in while that can be seen, in case a filter comes.
func (c *Calls) remember(tr *raw.Tracee) {
	switch {
	case int64(tr.Regs.Rax) != errRestartBlock:
		delete(c.waits, tr.TID)
	case uint32(tr.Regs.Orig_rax) != unix.SYS_RESTART_SYSCALL:
		c.waits[tr.TID] = brokenWait{tr.Regs, raw.Monotonic()}
	case !c.waits[tr.TID].sameCall(&tr.Regs):
		delete(c.waits, tr.TID) // somebody else broke into this one first
	}
}

// sameCall says whether a thread is still where it was broken out of a call: only the number of the call may differ.
func (b brokenWait) sameCall(r *unix.PtraceRegs) bool {
	o := &b.regs
	return o.Rip != 0 && [8]uint64{o.Rip, o.Rsp, o.Rdi, o.Rsi, o.Rdx, o.R10, o.R8, o.R9} == [8]uint64{r.Rip, r.Rsp, r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9}
}

// beginning is what was seen first of the wait that a thread is in.
func (c *Calls) beginning(tr *raw.Tracee) brokenWait {
	if uint32(tr.Regs.Orig_rax) == unix.SYS_RESTART_SYSCALL {
		if b := c.waits[tr.TID]; b.sameCall(&tr.Regs) {
			return b
		}
	}
	return brokenWait{tr.Regs, raw.Monotonic()}
}

// waitAgain has the thread make the call once more that it made itself, or end it where its time is over.
func (c *Calls) waitAgain(tr *raw.Tracee, b brokenWait, filters *filterSet) {
	r, nr := &tr.Regs, uint64(uint32(b.regs.Orig_rax))
	if nr == unix.SYS_RESTART_SYSCALL || !filters.unknown && !filters.allow(nr, r) {
		r.Rax = resultOf(unix.EINTR) // nothing else is left but the program's end
		return
	}
	r.Rax, r.Orig_rax = RestartUnlessHandled, b.regs.Orig_rax
	c.EndInTime(tr, b.begun, true)
}

func resultOf(e unix.Errno) uint64 { return uint64(-int64(e)) }

// Forget drops what is known of threads that have ended.
func (c *Calls) Forget(ended func(tid int) bool) {
	maps.DeleteFunc(c.waits, func(tid int, _ brokenWait) bool { return ended(tid) })
	maps.DeleteFunc(c.endings, func(tid int, _ time.Duration) bool { return ended(tid) })
}
