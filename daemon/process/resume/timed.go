package resume

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// Timed calls that are made again.
//
// Of poll, nanosleep and futex the kernel knows when their time is over. It writes what select, pselect and ppoll have left where their timeout stood,
// and reads it there when they go on, later by the pause; where the program has STICKY_TIMEOUTS, or that memory cannot be written, they begin anew, as
// other calls do, with their whole timeout, at each stop. When such a call is over is noted beside its number (moment.go) at the first stop that
// breaks into it; it then gets what is left of its time, where that stands in a register that nobody reads afterwards (spent.go), or else, when
// its time is over, the result that says so (endings.go). No call ever ends too early.

// EndInTime sees to it that a call which will be made again ends in its time; seen is when it was in the call already. It changes the registers
// of the stop only. broken says that the thread certainly was in the call until this stop.
func (c *Calls) EndInTime(tr *raw.Tracee, seen time.Duration, broken bool) {
	r := &tr.Regs
	nr := uint64(uint32(r.Orig_rax))
	end, known := tagged(r.Orig_rax)
	if !known {
		at, known := c.firstEnd(tr, seen)
		if !known {
			return
		}
		end = momentAt(at)
		r.Orig_rax = end.tag(nr)
	}
	now := raw.Monotonic()
	left := end.left(now)
	switch {
	case inMilliseconds(nr) && c.isSpent(raw.Addr(r.Rip)):
		r.R10 = uint64((max(left, 0) + time.Millisecond - 1) / time.Millisecond)
	case left <= 0 && c.mayEnd(tr, end, broken) && restoreMask(nr, tr.TID) && (!hasSets(nr) || c.Alone && c.emptySets(r)):
		r.Rax = c.atTheEnd(nr, r)
	default:
		c.endsAt(tr.TID, now+max(left, soon))
	}
}

// soon is when a call is looked at again that cannot be ended yet.
const soon = time.Millisecond

// mayEnd says whether the kernel has looked for what a call waits for since its time is over, as it does when we break into it, and has found nothing; a
// signal is something.
func (c *Calls) mayEnd(tr *raw.Tracee, end moment, broken bool) bool {
	if !broken {
		_, broken = c.told(tr)
	}
	if !broken || tr.Asked == 0 || end.left(tr.Asked) > 0 {
		return false
	}
	st, err := raw.ReadStatus(c.pid, tr.TID)
	return err == nil && st.Pending == 0
}

// restoreMask ends what a call does to the mask of signals for as long as it lasts, as the kernel does when its time is over: a signal that comes later
// finds the mask that the program has set. If the call goes on nevertheless it sets its mask again.
func restoreMask(nr uint64, tid int) bool {
	switch nr {
	case unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_IO_PGETEVENTS:
		mask, err := raw.GetMask(tid) // that which is to come back
		return err == nil && raw.SetMask(tid, mask) == nil
	}
	return true
}

// firstEnd is when a call is to end that is broken into for the first time.
func (c *Calls) firstEnd(tr *raw.Tracee, seen time.Duration) (end time.Duration, known bool) {
	nr := uint64(uint32(tr.Regs.Orig_rax))
	limit := c.timeout(nr, &tr.Regs)
	if limit > longestRun && !rereads(nr) {
		return 0, false
	}
	told, known := c.told(tr)
	switch {
	case limit > longestRun:
		return told, known && told-raw.Monotonic() <= longestRun
	case known:
		return min(told, seen+limit), true
	}
	return seen + limit, true
}

// inMilliseconds: the call takes its timeout in r10, as a number of milliseconds.
func inMilliseconds(nr uint64) bool { return nr == unix.SYS_EPOLL_WAIT || nr == unix.SYS_EPOLL_PWAIT }

// timeout is how long a call may last from its beginning, forever if it has no limit or one that is not known. Absolute times need no care. That of
// select, pselect and ppoll is not known: another thread may have had its rest written to the same place.
func (c *Calls) timeout(nr uint64, r *unix.PtraceRegs) time.Duration {
	const futexCommand, timerAbsolute = 0x7f, 1
	switch nr {
	case unix.SYS_POLL:
		return milliseconds(r.Rdx)
	case unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT:
		return milliseconds(r.R10)
	case unix.SYS_EPOLL_PWAIT2, unix.SYS_SEMTIMEDOP:
		return c.interval(r.R10)
	case unix.SYS_RT_SIGTIMEDWAIT:
		return c.interval(r.Rdx)
	case unix.SYS_IO_GETEVENTS, unix.SYS_IO_PGETEVENTS:
		return c.interval(r.R8)
	case unix.SYS_NANOSLEEP:
		return c.interval(r.Rdi)
	case unix.SYS_CLOCK_NANOSLEEP:
		if r.Rsi&timerAbsolute == 0 && runsWithUs(r.Rdi) {
			return c.interval(r.Rdx)
		}
	case unix.SYS_FUTEX:
		if r.Rsi&futexCommand == 0 {
			return c.interval(r.R10)
		}
	case unix.SYS_IO_URING_ENTER:
		return c.ringTimeout(r)
	case unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_ACCEPT, unix.SYS_ACCEPT4:
		return c.socketTimeout(r.Rdi, unix.SO_RCVTIMEO)
	case unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_CONNECT:
		return c.socketTimeout(r.Rdi, unix.SO_SNDTIMEO)
	}
	return forever
}

// atTheEnd is what a call returns when its time is over.
func (c *Calls) atTheEnd(nr uint64, r *unix.PtraceRegs) uint64 {
	switch nr {
	case unix.SYS_FUTEX:
		return resultOf(unix.ETIMEDOUT)
	case unix.SYS_IO_URING_ENTER:
		return resultOf(unix.ETIME)
	case unix.SYS_CONNECT:
		if c.socketDomain(r.Rdi) == unix.AF_UNIX { // it waits for room with the listener
			return resultOf(unix.EAGAIN)
		}
		return resultOf(unix.EINPROGRESS)
	case unix.SYS_POLL, unix.SYS_PPOLL, unix.SYS_SELECT, unix.SYS_PSELECT6, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
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
func (c *Calls) interval(at uint64) time.Duration {
	var b [16]byte
	if at == 0 || c.mem.Read(raw.Addr(at), b[:]) != nil {
		return forever
	}
	seconds, ns := int64(binary.LittleEndian.Uint64(b[:])), int64(binary.LittleEndian.Uint64(b[8:]))
	if seconds < 0 || seconds > int64(longestRun/time.Second) || ns < 0 || ns > 999_999_999 {
		return forever
	}
	return time.Duration(seconds)*time.Second + time.Duration(ns)
}

// ringTimeout is for io_uring_enter, whose timeout stands in a struct io_uring_getevents_arg.
func (c *Calls) ringTimeout(r *unix.PtraceRegs) time.Duration {
	const extArg, absTimer, timeoutOff = 1 << 3, 1 << 5, 16
	var at [8]byte
	if r.R10&extArg == 0 || r.R10&absTimer != 0 || c.mem.Read(raw.Addr(r.R8)+timeoutOff, at[:]) != nil {
		return forever
	}
	return c.interval(raw.Uint64(at[:]))
}

// socketTimeout asks a socket of the target for the timeout that it gives to calls in one direction.
func (c *Calls) socketTimeout(fd uint64, option int) (timeout time.Duration) {
	timeout = forever
	c.withSocket(fd, func(own int) {
		tv, err := unix.GetsockoptTimeval(own, unix.SOL_SOCKET, option)
		if err == nil && tv.Sec >= 0 && (tv.Sec != 0 || tv.Usec != 0) && tv.Sec <= int64(longestRun/time.Second) {
			timeout = time.Duration(tv.Nano())
		}
	})
	return timeout
}

// socketDomain is the address family of a socket of the target, -1 if that is not known.
func (c *Calls) socketDomain(fd uint64) (domain int) {
	domain = -1
	c.withSocket(fd, func(own int) {
		if d, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_DOMAIN); err == nil {
			domain = d
		}
	})
	return domain
}

// withSocket calls f with a socket of the target, if that is what a descriptor stands for and if it can be had.
func (c *Calls) withSocket(fd uint64, f func(own int)) {
	if link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.pid, uint32(fd))); err != nil || !strings.HasPrefix(link, "socket:") {
		return
	}
	own, err := c.take(int(uint32(fd)))
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

// KnowDeadlines sets what knows when waits would have ended. It is called from any goroutine.
func (c *Calls) KnowDeadlines(d Deadlines) { c.deadlines.Store(&d) }

// LookForDeadlines has them looked for during a stop; over ends that.
func (c *Calls) LookForDeadlines() (over func()) {
	if d := c.deadlines.Load(); d != nil && (*d).Begin() {
		return (*d).End
	}
	return func() {}
}

// told is when the kernel says that the call is to end that a thread was broken out of by our last interrupt.
func (c *Calls) told(tr *raw.Tracee) (end time.Duration, ok bool) {
	d := c.deadlines.Load()
	if d == nil || tr.Asked == 0 {
		return 0, false
	}
	return (*d).EndOf(tr.TID, tr.Asked)
}
