package process

import (
	"maps"
	"time"

	"golang.org/x/sys/unix"
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

// keepCall makes sure that what the kernel does next for a thread that was broken out of a call does not meet a filter. It changes the
// registers of the stop only and reports whether it did.
func (p *Process) keepCall(tr *tracee) bool {
	r := &tr.regs
	if !inSyscall(r) {
		delete(p.waits, tr.tid)
		return false
	}
	filters := filtersOf(p.pid, tr.tid)
	next := uint64(uint32(r.Orig_rax))
	if int64(r.Rax) == errRestartBlock {
		next = unix.SYS_RESTART_SYSCALL
	}
	if !filters.present || filters.allow(next, r) {
		p.remember(tr)
		return false
	}
	if int64(r.Rax) != errRestartBlock {
		if filters.unknown || filters.ask(next, r) {
			return false // it has passed before, or its supervisor gets it once more
		}
		r.Rax = resultOf(unix.EINTR) // this filter has come since
		return true
	}
	p.waitAgain(tr, p.beginning(tr), &filters)
	return true
}

// remember notes which call a thread is in while that can be seen, in case a filter comes.
func (p *Process) remember(tr *tracee) {
	switch {
	case int64(tr.regs.Rax) != errRestartBlock:
		delete(p.waits, tr.tid)
	case uint32(tr.regs.Orig_rax) != unix.SYS_RESTART_SYSCALL:
		p.waits[tr.tid] = brokenWait{tr.regs, monotonic()}
	case !p.waits[tr.tid].sameCall(&tr.regs):
		delete(p.waits, tr.tid) // somebody else broke into this one first
	}
}

// sameCall says whether a thread is still where it was broken out of a call: only the number of the call may differ.
func (b brokenWait) sameCall(r *unix.PtraceRegs) bool {
	o := &b.regs
	return o.Rip != 0 && [8]uint64{o.Rip, o.Rsp, o.Rdi, o.Rsi, o.Rdx, o.R10, o.R8, o.R9} == [8]uint64{r.Rip, r.Rsp, r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9}
}

// beginning is what was seen first of the wait that a thread is in.
func (p *Process) beginning(tr *tracee) brokenWait {
	if uint32(tr.regs.Orig_rax) == unix.SYS_RESTART_SYSCALL {
		if b := p.waits[tr.tid]; b.sameCall(&tr.regs) {
			return b
		}
	}
	return brokenWait{tr.regs, monotonic()}
}

// waitAgain has the thread make the call once more that it made itself, or end it where its time is over.
func (p *Process) waitAgain(tr *tracee, b brokenWait, filters *filterSet) {
	r, nr := &tr.regs, uint64(uint32(b.regs.Orig_rax))
	if nr == unix.SYS_RESTART_SYSCALL || !filters.unknown && !filters.allow(nr, r) {
		r.Rax = resultOf(unix.EINTR) // nothing else is left but the program's end
		return
	}
	r.Rax, r.Orig_rax = restartUnlessHandled, b.regs.Orig_rax
	p.endInTime(tr, b.begun)
}

func resultOf(e unix.Errno) uint64 { return uint64(-int64(e)) }

// forgetWaits drops what is known of threads that have ended.
func (s *session) forgetWaits() {
	if !s.complete {
		return
	}
	maps.DeleteFunc(s.p.waits, func(tid int, _ brokenWait) bool { return s.threads[tid] == nil })
	for _, times := range []map[int]time.Duration{s.p.endings, s.p.computed} {
		maps.DeleteFunc(times, func(tid int, _ time.Duration) bool { return s.threads[tid] == nil })
	}
}
