package raw

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Thin covers over ptrace and waitid. All of them must be called on the OS thread that seized the thread in question.

const (
	// SeizeOptions are those of every thread. No PTRACE_O_EXITKILL, ever: the target outlives us. No TRACEVFORK, no TRACEFORK: children are
	// none of our business.
	SeizeOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC

	// SyscallStop is the signal of a stop at the beginning or the end of a system call.
	SyscallStop = int(unix.SIGTRAP) | 0x80
)

// ptrace makes a request that has no result of its own. No argument may be the address of something of ours: only in the call of a system
// call itself does a pointer stay what it is when the runtime moves the stack.
func ptrace(request, tid int, addr, data uintptr) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); e != 0 {
		return e
	}
	return nil
}

// Seize waits for an exec that is under way. The runtime must know: until the tracer comes back it would stop no goroutine for the
// garbage collector, and with all others the guard that ends the wait.
func Seize(tid, options int) error {
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, uintptr(options), 0, 0); e != 0 {
		return e
	}
	return nil
}

func ptraceDetach(tid, sig int) error { return ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(sig)) }

// GetMask gives the signals that a stopped thread blocks.
func GetMask(tid int) (mask uint64, err error) {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGMASK, uintptr(tid), 8, uintptr(unsafe.Pointer(&mask)), 0, 0)
	if e != 0 {
		return 0, e
	}
	return mask, nil
}

// SetMask sets the signals that a stopped thread blocks.
func SetMask(tid int, mask uint64) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGMASK, uintptr(tid), 8, uintptr(unsafe.Pointer(&mask)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// RegisterSet reads a register set; the result is a part of buf.
func RegisterSet(tid int, kind uintptr, buf []byte) ([]byte, error) {
	iov := unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), kind, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return nil, e
	}
	return buf[:min(iov.Len, uint64(len(buf)))], nil
}

// RseqArea gives the address of the thread's rseq area, 0 if it has none or the kernel (before 5.13) cannot say.
func RseqArea(tid int) Addr {
	var conf [24]byte
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_RSEQ_CONFIGURATION, uintptr(tid), uintptr(len(conf)), uintptr(unsafe.Pointer(&conf)), 0, 0)
	if e != 0 {
		return 0
	}
	return Addr(Uint64(conf[:]))
}

// A waitResult is what waitThread found.
type WaitResult int

const (
	WaitNothing WaitResult = iota // still running
	WaitStopped                   // status holds signal | event<<8
	WaitEnded
	WaitNotOurs // never was ours, or has ended and was collected
)

// Gone reports whether the thread is none of ours any more.
func (r WaitResult) Gone() bool { return r == WaitEnded || r == WaitNotOurs }

// WaitThread asks, without waiting, what became of a traced thread. It never waits for "any" child: this process may have children of its
// own that somebody else waits for. The end of a child of ours (keep) is looked at but left for its owner to collect.
func WaitThread(tid int, keep bool) (result WaitResult, status int) {
	flags := unix.WSTOPPED | unix.WNOHANG | unix.WALL
	if !keep {
		flags |= unix.WEXITED
	}
	result, status = WaitID(tid, flags)
	if keep && result == WaitNothing {
		result, status = WaitID(tid, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG|unix.WALL)
	}
	return result, status
}

// WaitID is waitid(2) for one thread, without waiting.
func WaitID(tid, flags int) (WaitResult, int) {
	var info unix.Siginfo
	for {
		// Without waiting it takes no time of which the runtime need know.
		_, _, e := unix.RawSyscall6(unix.SYS_WAITID, unix.P_PID, uintptr(tid), uintptr(unsafe.Pointer(&info)), uintptr(flags|unix.WNOHANG), 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return WaitNotOurs, 0
		}
		break
	}
	const trapped, stopped, continued = 4, 5, 6 // CLD_TRAPPED and so on
	switch {
	case info.Signo == 0 || info.Code == continued:
		return WaitNothing, 0
	case info.Code == trapped || info.Code == stopped:
		raw := (*[unsafe.Sizeof(info)]byte)(unsafe.Pointer(&info))
		return WaitStopped, int(binary.LittleEndian.Uint32(raw[24:])) // si_status
	}
	return WaitEnded, 0
}

// Uint64 is the little-endian number at the front of b.
func Uint64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// SignalCode is the si_code of the signal that a thread is about to get.
func SignalCode(tid int) (code int32, err error) {
	var info [128]byte // siginfo_t
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(tid), 0, uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 {
		return 0, e
	}
	return int32(binary.LittleEndian.Uint32(info[8:])), nil
}

// SeccompFilter reads one filter into buf, or only its length in instructions.
func SeccompFilter(tid, index int, buf []unix.SockFilter) (int, error) {
	n, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SECCOMP_GET_FILTER, uintptr(tid), uintptr(index), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// Dispatches reports whether a stopped thread has its system calls turned into a signal (prctl(2), PR_SET_SYSCALL_USER_DISPATCH). Before
// Linux 6.4 the kernel cannot say, and it is false.
func Dispatches(tid int) bool {
	const getConfig = 0x4211 // PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
	var config struct{ mode, selector, offset, length uint64 }
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, getConfig, uintptr(tid), unsafe.Sizeof(config), uintptr(unsafe.Pointer(&config)), 0, 0)
	return e == 0 && config.mode != 0
}
