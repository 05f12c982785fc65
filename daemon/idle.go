package daemon

import (
	"encoding/binary"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/process"
)

// Waiting for work is not a bottleneck. Which waits those are is decided from the system call that a thread is blocked in.

const (
	futexCommand = 0x7f
	futexWait    = 0 // a mutex, a barrier: linux/futex.h
	futexLockPI  = 6
)

// rareWakes is how often a second a thread must be woken for its waiting on a condition to count: a pool that gets something
// to do every other second is idle in between.
const rareWakes = 4.0

// idles decides whether a blocked thread has nothing to do. quiet is how long it has not run, in seconds; wakes how often a
// second it has been woken lately.
//
// A thread that waits for a lock is never idle. One that waits for another thread to signal it (condition variable, semaphore,
// join) or to send something is waiting if that happens all the time, and parked if it is rare or nothing came for parkAfter.
func idles(c kernel.BlockedCall, quiet, wakes float64) bool {
	if arch.IsIdle(c.NR) {
		return true
	}
	switch c.NR {
	case unix.SYS_FUTEX:
		cmd := c.Args[1] & futexCommand
		return cmd != futexWait && cmd != futexLockPI && signalled(quiet, wakes)
	case unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_MSGRCV, unix.SYS_MQ_TIMEDRECEIVE:
		return signalled(quiet, wakes)
	case unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RESTART_SYSCALL, unix.SYS_IO_URING_ENTER, unix.SYS_FUTEX_WAITV, -1:
		return quiet >= parkAfter
	}
	return false
}

// signalled tells whether one that waits for others to give it work is parked.
func signalled(quiet, wakes float64) bool { return quiet >= parkAfter || wakes < rareWakes }

// longPoll is the longest time after which a wait may give up and still be a look whether there is something to do,
// rather than waiting for an answer.
const longPoll = time.Second

// polls tells whether a thread waits for something that gives up after a moment, again and again, as others do with poll; or for what
// is no input: for a timer, a signal, a change of a directory, or, now and then, for an event of another thread.
func (tt *threadTable) polls(r *threadRow, call kernel.BlockedCall, now float64) bool {
	if w := (wait{call.NR, call.Args[0], r.quietSince}); w != r.asked { // once for each wait
		timeout := tt.timeout(call)
		r.asked, r.polling, r.counting, r.spinning = w, timeout > 0 && timeout <= longPoll, false, false
		if call.NR == unix.SYS_READ || call.NR == unix.SYS_READV {
			r.polling, r.counting = tt.eventKind(int(int32(call.Args[0])))
		}
		if call.NR == unix.SYS_FUTEX && call.Args[1]&futexCommand == futexWait {
			r.counting = tt.waitsForValue(call.PC)
			r.spinning = r.counting
		}
	}
	wakes := r.wakes
	if r.spinning {
		wakes = min(wakes, r.sleeps)
	}
	return r.polling || r.counting && signalled(now-r.quietSince, wakes)
}

// waitsForValue tells whether a futex is waited for by way of the C library's syscall function, as std::atomic::wait and what is built on
// it do: for a value that another thread will store, which says nothing of a lock. Locks of the C library make the call themselves.
func (tt *threadTable) waitsForValue(pc uint64) bool {
	f := tt.t.functionAt(pc)
	return f != nil && f.fn.Name == libc.Syscall && libc.IsC(f.obj.name)
}

// eventKind tells whether a descriptor is none for input: one that tells of time, signals or changes, or a counter (eventfd) by which
// other threads give work.
func (tt *threadTable) eventKind(fd int) (tells, counts bool) {
	link, err := kernel.FDLink(tt.t.proc.PID(), fd)
	if err != nil {
		return false, false
	}
	for _, word := range []string{"timerfd", "signalfd", "inotify", "fanotify"} {
		tells = tells || strings.HasPrefix(link, "anon_inode:["+word) || link == "anon_inode:"+word
	}
	return tells, strings.HasPrefix(link, "anon_inode:[eventfd")
}

// timeout is after what time a blocked call gives up, as far as its arguments say; 0 if it never does.
func (tt *threadTable) timeout(call kernel.BlockedCall) time.Duration {
	switch {
	case call.NR == unix.SYS_RECVFROM || call.NR == unix.SYS_RECVMSG:
		d, err := kernel.ReceiveTimeout(tt.t.proc.PID(), int(int32(call.Args[0])))
		if err != nil {
			return 0
		}
		return d
	case call.NR == unix.SYS_SEMTIMEDOP && call.Args[3] != 0:
		var b [16]byte // struct timespec
		if tt.t.proc.ReadMem(process.Addr(call.Args[3]), b[:]) != nil {
			return 0
		}
		sec, ns := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
		return time.Duration(min(sec, 3600))*time.Second + time.Duration(min(ns, 1e9))
	}
	return 0
}

// A wait is one wait of a thread: the call, its descriptor, and since when.
type wait struct {
	nr    int
	fd    uint64
	since float64
}
