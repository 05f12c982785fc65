package threads

import (
	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/kernel"
	"culprit/grid"
)

// Waiting for work is not a bottleneck. Which waits those are is decided from the system call that a thread is blocked in.

// Kinds of blocking calls.
var (
	// signalledByThreads are those in which it waits for another to signal it, however long that takes.
	signalledByThreads = set(unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_MSGRCV, unix.SYS_MQ_TIMEDRECEIVE)
	// answered are those in which it waits for input, or for what is not known (-1).
	answered = set(unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RESTART_SYSCALL, unix.SYS_IO_URING_ENTER, unix.SYS_FUTEX_WAITV, -1)
	// readsDescriptor read what the first argument is, whatever that is.
	readsDescriptor = set(unix.SYS_READ, unix.SYS_READV)
	// receives read a socket, which may have a time limit.
	receives = set(unix.SYS_RECVFROM, unix.SYS_RECVMSG)
	// sends wait for room, until who reads has taken something.
	sends = set(unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_SENDTO, unix.SYS_SENDMSG)
	// hasTimespec have a time limit behind their fourth argument.
	hasTimespec = set(unix.SYS_SEMTIMEDOP)
)

func set(calls ...int) map[int]bool {
	m := map[int]bool{}
	for _, nr := range calls {
		m[nr] = true
	}
	return m
}

// Operations of futex(2), from linux/futex.h.
const (
	futexCommand = 0x7f
	futexWait    = 0 // a mutex, a barrier
	futexLockPI  = 6

	futexWaitBitset    = 9 | 0x80 // a condition variable or a semaphore with a time limit, of one process
	futexClockRealtime = 0x100
)

// IsFutexWait tells whether a call waits on a futex in the way of a mutex or a barrier.
func IsFutexWait(c kernel.BlockedCall) bool {
	return c.NR == unix.SYS_FUTEX && c.Args[1]&futexCommand == futexWait
}

// WaitsForChild tells whether a thread waits in a call for a child process to end or to stop.
func WaitsForChild(c kernel.BlockedCall) bool {
	return c.NR == unix.SYS_WAIT4 || c.NR == unix.SYS_WAITID
}

// IdleFor is what a thread that has nothing to do waits for in a call.
func IdleFor(c kernel.BlockedCall) grid.IdleFor {
	switch {
	case arch.IsSleep(c.NR, c.Args[0], c.Args[1]):
		return grid.ForTime
	case WaitsForChild(c):
		return grid.ForChild
	case arch.WaitsForSignal(c.NR):
		return grid.ForSignal
	case c.NR == unix.SYS_FUTEX, signalledByThreads[c.NR]:
		return grid.ForThreads
	case arch.IsIdle(c.NR), readsDescriptor[c.NR], receives[c.NR]:
		return grid.ForInput
	}
	return ""
}

const (
	// ParkAfter is how long a thread must not have run, in seconds, before its waiting counts as having nothing to do.
	ParkAfter = 1.0
	// rareWakes is how often a second a thread must be woken for its waiting on a condition to count: a pool that gets something to do every
	// other second is idle in between.
	rareWakes = 4.0
)

// idles decides whether a blocked thread has nothing to do. quiet is how long it has not run, in seconds; wakes how often a second it has been
// woken lately.
//
// A thread that waits for a lock is never idle. One that waits for another thread to signal it (condition variable, semaphore, join) or to send
// something is waiting if that happens all the time, and parked if it is rare or nothing came for ParkAfter.
func idles(c kernel.BlockedCall, quiet, wakes float64) bool {
	switch {
	case arch.IsIdle(c.NR):
		return true
	case toldByThreads(c):
		return signalled(quiet, wakes)
	case answered[c.NR]:
		return quiet >= ParkAfter
	}
	return false
}

// toldByThreads tells whether a thread waits in a call for others to tell it to go on: for a condition variable, a semaphore, a thread that ends, a
// message.
func toldByThreads(c kernel.BlockedCall) bool {
	return c.NR == unix.SYS_FUTEX && !IsFutexWait(c) && c.Args[1]&futexCommand != futexLockPI || signalledByThreads[c.NR]
}

// AwaitsWork tells whether a thread waits in a call for what another one makes, or takes, all of whose work it waits for then. Who waits for a lock waits only for
// what is done under it.
func AwaitsWork(c kernel.BlockedCall) bool {
	return toldByThreads(c) || readsDescriptor[c.NR] || receives[c.NR] || sends[c.NR]
}

// signalled tells whether one that waits for others to give it work is parked.
func signalled(quiet, wakes float64) bool { return quiet >= ParkAfter || wakes < rareWakes }
