package process

import (
	"encoding/binary"
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Waits under a filter of system calls.
//
// A timed wait that we break into (poll, nanosleep, clock_nanosleep, futex) is left with ERESTART_RESTARTBLOCK: the kernel makes
// restart_syscall for the thread, a call that the program never made and its filter may answer with death. Where a filter does not
// certainly let it pass, the wait itself is made again, which the filter let pass before, with its full timeout. When it began is kept
// meanwhile, so that a wait that is over by then ends as if its time had run out: it is late by less than its own timeout.

// A brokenWait is what was seen of a thread that goes on waiting with restart_syscall: the registers then say no more which call it was.
type brokenWait struct {
	regs  unix.PtraceRegs
	begun uint32 // a moment
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
		if filters.unknown {
			return false // it has passed before
		}
		r.Rax = resultOf(unix.EINTR) // this filter has come since
		return true
	}
	p.waitAgain(r, p.beginning(tr), &filters)
	return true
}

// remember notes which call a thread is in while that can be seen, in case a filter comes.
func (p *Process) remember(tr *tracee) {
	switch {
	case int64(tr.regs.Rax) != errRestartBlock:
		delete(p.waits, tr.tid)
	case uint32(tr.regs.Orig_rax) != unix.SYS_RESTART_SYSCALL:
		p.waits[tr.tid] = brokenWait{tr.regs, moment()}
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
	now := brokenWait{tr.regs, moment()}
	if uint32(tr.regs.Orig_rax) == unix.SYS_RESTART_SYSCALL {
		if b := p.waits[tr.tid]; b.sameCall(&tr.regs) {
			return b
		}
	} else if high := uint32(tr.regs.Orig_rax >> 32); high>>momentBits == momentTag {
		now.begun = high & (1<<momentBits - 1)
	}
	return now
}

// waitAgain has the thread make the call once more that it made itself, or end it where its time is over.
func (p *Process) waitAgain(r *unix.PtraceRegs, b brokenWait, filters *filterSet) {
	nr := uint64(uint32(b.regs.Orig_rax))
	if nr == unix.SYS_RESTART_SYSCALL || !filters.unknown && !filters.allow(nr, r) {
		r.Rax = resultOf(unix.EINTR) // nothing else is left but the program's end
		return
	}
	if limit, result := p.timeout(nr, r); since(b.begun) >= limit {
		r.Rax = result
		return
	}
	r.Rax, r.Orig_rax = restartUnlessHandled, nr
	if highHalfIgnored() {
		r.Orig_rax |= uint64(momentTag<<momentBits|b.begun) << 32
	}
}

func resultOf(e unix.Errno) uint64 { return uint64(-int64(e)) }

// forgetWaits drops what is known of threads that have ended.
func (s *session) forgetWaits() {
	for tid := range s.p.waits {
		if s.threads[tid] == nil {
			delete(s.p.waits, tid)
		}
	}
}

// The number of a call takes the low half of rax. The kernel looks at no more of it since Linux 5.14, but keeps the high half as long as
// the thread is in this very call, and no longer. So that is where the moment stands at which we saw a wait first: it survives us, and
// cannot be taken for that of a later wait.
const (
	momentBits = 23
	momentTag  = 0x5c // the high half is not negative and not what a program leaves there by chance
	momentUnit = 4 * time.Millisecond
	longestRun = 8 * time.Hour // what is longer is never taken to be over: a moment comes again after 9.3
)

// highHalfIgnored asks the kernel.
var highHalfIgnored = sync.OnceValue(func() bool {
	_, _, e := unix.RawSyscall(unix.SYS_GETPPID|momentTag<<(32+momentBits), 0, 0, 0)
	return e == 0
})

// moment is the time now, rounded up to its unit.
func moment() uint32 { return uint32((monotonic()+momentUnit-1)/momentUnit) & (1<<momentBits - 1) }

// since is how much time at least has passed since a moment.
func since(begun uint32) time.Duration {
	ago := time.Duration((uint32(monotonic()/momentUnit)-begun)&(1<<momentBits-1)) * momentUnit
	if ago > longestRun {
		return 0 // it is in the unit of time that has just begun
	}
	return ago
}

func monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // it cannot fail
	return time.Duration(ts.Nano())
}

const forever = time.Duration(math.MaxInt64)

// timeout is how long a call may last from its beginning, and with which result it ends then. Absolute times need no care.
func (p *Process) timeout(nr uint64, r *unix.PtraceRegs) (limit time.Duration, result uint64) {
	const futexCommand, timerAbsolute = 0x7f, 1
	switch {
	case nr == unix.SYS_POLL && int32(r.Rdx) >= 0:
		limit = time.Duration(int32(r.Rdx)) * time.Millisecond
	case nr == unix.SYS_NANOSLEEP:
		limit = p.interval(r.Rdi)
	case nr == unix.SYS_CLOCK_NANOSLEEP && r.Rsi&timerAbsolute == 0 && runsWithUs(r.Rdi):
		limit = p.interval(r.Rdx)
	case nr == unix.SYS_FUTEX && r.Rsi&futexCommand == 0:
		limit, result = p.interval(r.R10), resultOf(unix.ETIMEDOUT)
	default:
		return forever, 0
	}
	if limit > longestRun {
		limit = forever
	}
	return limit, result
}

// runsWithUs says whether a clock goes on as fast as the one that we measure with: clocks of processor time do not.
func runsWithUs(clock uint64) bool {
	switch uint32(clock) {
	case unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME, unix.CLOCK_TAI:
		return true
	}
	return false
}

// interval reads a struct timespec of the target; forever if there is none.
func (p *Process) interval(at uint64) time.Duration {
	var b [16]byte
	if at == 0 || p.readText(Addr(at), b[:]) != nil {
		return forever
	}
	seconds, ns := int64(binary.LittleEndian.Uint64(b[:])), int64(binary.LittleEndian.Uint64(b[8:]))
	if seconds < 0 || seconds > int64(longestRun/time.Second) || ns < 0 || ns > 999_999_999 {
		return forever
	}
	return time.Duration(seconds)*time.Second + time.Duration(ns)
}
