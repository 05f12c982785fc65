package daemon

import (
	"encoding/binary"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
)

// Waiting for work is not a bottleneck. Which waits those are is decided from the system call that a thread is blocked in.

// System calls of x86-64 (arch/x86/entry/syscalls/syscall_64.tbl).
const (
	sysRead         = 0
	sysPoll         = 7
	sysPause        = 34
	sysNanosleep    = 35
	sysAccept       = 43
	sysRecvfrom     = 45
	sysRecvmsg      = 47
	sysWait4        = 61
	sysSemop        = 65
	sysSelect       = 23
	sysRtSigwait    = 128
	sysRtSigsuspend = 130
	sysFutex        = 202
	sysClockNano    = 230
	sysEpollWait    = 232
	sysWaitid       = 247
	sysPselect6     = 270
	sysPpoll        = 271
	sysEpollPwait   = 281
	sysAccept4      = 288
	sysRestart      = 219
	sysSemtimedop   = 220
	sysEpollPwait2  = 441
)

// alwaysIdle are the calls in which a thread waits for work, for time or for a child.
var alwaysIdle = map[int]bool{sysPoll: true, sysPause: true, sysNanosleep: true, sysAccept: true, sysWait4: true, sysSelect: true,
	sysRtSigwait: true, sysRtSigsuspend: true, sysClockNano: true, sysEpollWait: true, sysWaitid: true, sysPselect6: true,
	sysPpoll: true, sysEpollPwait: true, sysAccept4: true, sysEpollPwait2: true}

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
	if alwaysIdle[c.NR] {
		return true
	}
	switch c.NR {
	case sysFutex:
		cmd := c.Args[1] & futexCommand
		return cmd != futexWait && cmd != futexLockPI && (quiet >= parkAfter || wakes < rareWakes)
	case sysSemop, sysSemtimedop:
		return quiet >= parkAfter || wakes < rareWakes
	case sysRead, sysRecvfrom, sysRecvmsg, sysRestart, -1:
		return quiet >= parkAfter
	}
	return false
}

// longPoll is the longest time after which a wait may give up and still be a look whether there is something to do,
// rather than waiting for an answer.
const longPoll = time.Second

// polls tells whether a thread waits for something that gives up after a moment, again and again, as others do with poll.
func (tt *threadTable) polls(r *threadRow, call kernel.BlockedCall) bool {
	if w := (wait{call.NR, call.Args[0], r.quietSince}); w != r.asked { // once for each wait
		timeout := tt.timeout(call)
		r.asked, r.polling = w, timeout > 0 && timeout <= longPoll
	}
	return r.polling
}

// timeout is after what time a blocked call gives up, as far as its arguments say; 0 if it never does.
func (tt *threadTable) timeout(call kernel.BlockedCall) time.Duration {
	switch {
	case call.NR == sysRecvfrom || call.NR == sysRecvmsg:
		d, err := kernel.ReceiveTimeout(tt.t.proc.PID(), int(int32(call.Args[0])))
		if err != nil {
			return 0
		}
		return d
	case call.NR == sysSemtimedop && call.Args[3] != 0:
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
