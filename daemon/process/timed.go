package process

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Timed calls that are made again.
//
// Of poll, select, nanosleep and futex the kernel knows what is left of their time when we break into them. Other calls would begin
// anew, with their whole timeout, at each stop. When such a call is over is noted beside its number (moment.go) at the first stop that
// breaks into it; it then gets what is left of its time, where that stands in a register that nobody reads afterwards (spent.go), or else, when
// its time is over, the result that says so (endings.go). No call ever ends too early.

// endInTime sees to it that a call which will be made again ends in its time; seen is when it was in the call already. It changes the registers
// of the stop only.
func (p *Process) endInTime(tr *tracee, seen time.Duration) {
	r := &tr.regs
	nr := uint64(uint32(r.Orig_rax))
	end, known := tagged(r.Orig_rax)
	if !known {
		limit := p.timeout(nr, r)
		if limit > longestRun {
			return
		}
		end = p.endOf(tr, seen+limit)
		r.Orig_rax = end.tag(nr)
	}
	now := monotonic()
	left := end.left(now)
	switch {
	case inMilliseconds(nr) && p.isSpent(Addr(r.Rip)):
		r.R10 = uint64((max(left, 0) + time.Millisecond - 1) / time.Millisecond)
	case left <= 0:
		r.Rax = p.atTheEnd(nr, r)
	default:
		p.endsAt(tr.tid, now+left)
	}
}

// inMilliseconds: the call takes its timeout in r10, as a number of milliseconds.
func inMilliseconds(nr uint64) bool { return nr == unix.SYS_EPOLL_WAIT || nr == unix.SYS_EPOLL_PWAIT }

// timeout is how long a call may last from its beginning, forever if it has no limit or one that is not known. Absolute times need no care.
func (p *Process) timeout(nr uint64, r *unix.PtraceRegs) time.Duration {
	const futexCommand, timerAbsolute = 0x7f, 1
	switch nr {
	case unix.SYS_POLL:
		return milliseconds(r.Rdx)
	case unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT:
		return milliseconds(r.R10)
	case unix.SYS_EPOLL_PWAIT2, unix.SYS_SEMTIMEDOP:
		return p.interval(r.R10)
	case unix.SYS_RT_SIGTIMEDWAIT:
		return p.interval(r.Rdx)
	case unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS:
		return p.interval(r.R8)
	case unix.SYS_NANOSLEEP:
		return p.interval(r.Rdi)
	case unix.SYS_CLOCK_NANOSLEEP:
		if r.Rsi&timerAbsolute == 0 && runsWithUs(r.Rdi) {
			return p.interval(r.Rdx)
		}
	case unix.SYS_FUTEX:
		if r.Rsi&futexCommand == 0 {
			return p.interval(r.R10)
		}
	case unix.SYS_IO_URING_ENTER:
		return p.ringTimeout(r)
	case unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_ACCEPT, unix.SYS_ACCEPT4:
		return p.socketTimeout(r.Rdi, unix.SO_RCVTIMEO)
	case unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_CONNECT:
		return p.socketTimeout(r.Rdi, unix.SO_SNDTIMEO)
	}
	return forever
}

// atTheEnd is what a call returns when its time is over.
func (p *Process) atTheEnd(nr uint64, r *unix.PtraceRegs) uint64 {
	switch nr {
	case unix.SYS_FUTEX:
		return resultOf(unix.ETIMEDOUT)
	case unix.SYS_IO_URING_ENTER:
		return resultOf(unix.ETIME)
	case unix.SYS_CONNECT:
		if p.socketDomain(r.Rdi) == unix.AF_UNIX { // it waits for room with the listener
			return resultOf(unix.EAGAIN)
		}
		return resultOf(unix.EINPROGRESS)
	case unix.SYS_POLL, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
		unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS: // so many events, or a sleep that is over
		return 0
	}
	return resultOf(unix.EAGAIN)
}

func milliseconds(arg uint64) time.Duration {
	if int32(arg) < 0 {
		return forever
	}
	return time.Duration(int32(arg)) * time.Millisecond
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

// ringTimeout is for io_uring_enter, whose timeout stands in a struct io_uring_getevents_arg.
func (p *Process) ringTimeout(r *unix.PtraceRegs) time.Duration {
	const extArg, absTimer, timeoutOff = 1 << 3, 1 << 5, 16
	var at [8]byte
	if r.R10&extArg == 0 || r.R10&absTimer != 0 || p.readText(Addr(r.R8)+timeoutOff, at[:]) != nil {
		return forever
	}
	return p.interval(le64(at[:]))
}

// socketTimeout asks a socket of the target for the timeout that it gives to calls in one direction.
func (p *Process) socketTimeout(fd uint64, option int) (timeout time.Duration) {
	timeout = forever
	p.withSocket(fd, func(own int) {
		tv, err := unix.GetsockoptTimeval(own, unix.SOL_SOCKET, option)
		if err == nil && tv.Sec >= 0 && (tv.Sec != 0 || tv.Usec != 0) && tv.Sec <= int64(longestRun/time.Second) {
			timeout = time.Duration(tv.Nano())
		}
	})
	return timeout
}

// socketDomain is the address family of a socket of the target, -1 if that is not known.
func (p *Process) socketDomain(fd uint64) (domain int) {
	domain = -1
	p.withSocket(fd, func(own int) {
		if d, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil {
			domain = d
		}
	})
	return domain
}

// withSocket calls f with a socket of the target, if that is what a descriptor stands for and if it can be had.
func (p *Process) withSocket(fd uint64, f func(own int)) {
	if link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.pid, uint32(fd))); err != nil || !strings.HasPrefix(link, "socket:") {
		return
	}
	own, err := unix.PidfdGetfd(p.pidfd, int(uint32(fd)), 0)
	if err != nil {
		return
	}
	defer func() { go unix.Close(own) }() // it may be something else by now, whose end somebody makes us wait for
	f(own)
}

// Deadlines knows when waits would have ended that were broken off, on the monotonic clock, as far as the kernel tells. It looks between Begin
// and End; of a Begin that was answered with false there is no End.
type Deadlines interface {
	Begin() bool
	End()
	EndOf(tid int, since time.Duration) (end time.Duration, ok bool)
}

// KnowDeadlines sets what knows when waits would have ended. Without it they count from the first stop. It is called from any goroutine.
func (p *Process) KnowDeadlines(d Deadlines) { p.deadlines.Store(&d) }

// lookForDeadlines has them looked for during a stop; over ends that.
func (p *Process) lookForDeadlines() (over func()) {
	if d := p.deadlines.Load(); d != nil && (*d).Begin() {
		return (*d).End
	}
	return func() {}
}

// endOf is when the call is to end that a thread was broken out of by our last interrupt.
func (p *Process) endOf(tr *tracee, latest time.Duration) moment {
	if d := p.deadlines.Load(); d != nil && tr.asked > 0 {
		if end, ok := (*d).EndOf(tr.tid, tr.asked); ok {
			return momentAt(min(end, latest))
		}
	}
	return momentAt(latest)
}
