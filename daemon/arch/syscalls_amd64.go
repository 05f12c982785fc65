package arch

import "golang.org/x/sys/unix"

// idle are the system calls in which a thread waits for work, for time or for a child.
var idle = setOf(unix.SYS_POLL, unix.SYS_PAUSE, unix.SYS_NANOSLEEP, unix.SYS_ACCEPT, unix.SYS_WAIT4, unix.SYS_SELECT,
	unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_RT_SIGSUSPEND, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_EPOLL_WAIT, unix.SYS_WAITID, unix.SYS_PSELECT6,
	unix.SYS_PPOLL, unix.SYS_EPOLL_PWAIT, unix.SYS_ACCEPT4, unix.SYS_EPOLL_PWAIT2)

// IsIdle reports whether a thread in the system call waits for work, for time or for a child.
func IsIdle(nr int) bool { return idle[nr] }

// signals are the system calls in which a thread waits for a signal.
var signals = setOf(unix.SYS_PAUSE, unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_RT_SIGSUSPEND)

// IsSleep reports whether a thread in the system call waits for nothing but time, with its first two arguments: one in poll or select may wait for no
// descriptor.
func IsSleep(nr int, first, second uint64) bool {
	switch nr {
	case unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP:
		return true
	case unix.SYS_POLL, unix.SYS_PPOLL:
		return second == 0
	case unix.SYS_SELECT, unix.SYS_PSELECT6:
		return first == 0
	}
	return false
}

// WaitsForSignal reports whether a thread in the system call waits for a signal.
func WaitsForSignal(nr int) bool { return signals[nr] }

// readiness are the system calls in which a thread waits until one of several descriptors is ready.
var readiness = setOf(unix.SYS_POLL, unix.SYS_PPOLL, unix.SYS_SELECT, unix.SYS_PSELECT6, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2)

// IsReadiness reports whether a thread in the system call waits until one of several descriptors is ready.
func IsReadiness(nr int) bool { return readiness[nr] }

// descriptors are the system calls whose first argument is the descriptor that they wait for.
var descriptors = setOf(unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_READV, unix.SYS_WRITEV,
	unix.SYS_PREADV, unix.SYS_PWRITEV, unix.SYS_PREADV2, unix.SYS_PWRITEV2, unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_SENDMSG,
	unix.SYS_RECVMSG, unix.SYS_CONNECT, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC_FILE_RANGE, unix.SYS_SENDFILE)

// WaitsForDescriptor reports whether the system call waits for the descriptor that is its first argument.
func WaitsForDescriptor(nr int) bool { return descriptors[nr] }

// WaitsForFileLock reports whether a thread that is blocked in the system call, with this second argument, waits for the lock of the file whose
// descriptor is the first one.
func WaitsForFileLock(nr int, second uint64) bool {
	switch nr {
	case unix.SYS_FLOCK:
		return true
	case unix.SYS_FCNTL:
		command := int32(second)
		return command == unix.F_SETLKW || command == unix.F_OFD_SETLKW
	}
	return false
}

func setOf(calls ...int) map[int]bool {
	set := map[int]bool{}
	for _, nr := range calls {
		set[nr] = true
	}
	return set
}
