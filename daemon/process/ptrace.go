package process

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Thin covers over ptrace and waitid. All of them must be called on the OS thread that seized the thread in question.

const (
	// No PTRACE_O_EXITKILL, ever: the target outlives us. No TRACEVFORK, no TRACEFORK: children are none of our business.
	seizeOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC

	syscallStop = int(unix.SIGTRAP) | 0x80
)

func ptrace(request, tid int, addr, data uintptr) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); e != 0 {
		return e
	}
	return nil
}

// ptraceSeize waits for an exec that is under way. The runtime must know: until the tracer comes back it would stop no goroutine for the
// garbage collector, and with all others the guard that ends the wait.
func ptraceSeize(tid, options int) error {
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, uintptr(options), 0, 0); e != 0 {
		return e
	}
	return nil
}

func ptraceDetach(tid, sig int) error { return ptrace(unix.PTRACE_DETACH, tid, 0, uintptr(sig)) }

func ptraceGetMask(tid int) (mask uint64, err error) {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGMASK, uintptr(tid), 8, uintptr(unsafe.Pointer(&mask)), 0, 0)
	if e != 0 {
		return 0, e
	}
	return mask, nil
}

func ptraceSetMask(tid int, mask uint64) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGMASK, uintptr(tid), 8, uintptr(unsafe.Pointer(&mask)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// ptraceRegset reads a register set; the result is a part of buf.
func ptraceRegset(tid int, kind uintptr, buf []byte) ([]byte, error) {
	iov := unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), kind, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return nil, e
	}
	return buf[:min(iov.Len, uint64(len(buf)))], nil
}

// ptraceRseq gives the address of the thread's rseq area, 0 if it has none or the kernel (before 5.13) cannot say.
func ptraceRseq(tid int) Addr {
	var conf [24]byte
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_RSEQ_CONFIGURATION, uintptr(tid), uintptr(len(conf)), uintptr(unsafe.Pointer(&conf)), 0, 0)
	if e != 0 {
		return 0
	}
	return Addr(le64(conf[:]))
}

// A waitResult is what waitThread found.
type waitResult int

const (
	waitNothing waitResult = iota // still running
	waitStopped                   // status holds signal | event<<8
	waitEnded
	waitNotOurs // never was ours, or has ended and was collected
)

func (r waitResult) gone() bool { return r == waitEnded || r == waitNotOurs }

// waitThread asks, without waiting, what became of a traced thread. It never waits for "any" child: this process may have children of its
// own that somebody else waits for. The end of a child of ours (keep) is looked at but left for its owner to collect.
func waitThread(tid int, keep bool) (result waitResult, status int) {
	flags := unix.WSTOPPED | unix.WNOHANG | unix.WALL
	if !keep {
		flags |= unix.WEXITED
	}
	result, status = waitID(tid, flags)
	if keep && result == waitNothing {
		result, status = waitID(tid, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG|unix.WALL)
	}
	return result, status
}

func waitID(tid, flags int) (waitResult, int) {
	var info unix.Siginfo
	for {
		// Without waiting it takes no time of which the runtime need know.
		_, _, e := unix.RawSyscall6(unix.SYS_WAITID, unix.P_PID, uintptr(tid), uintptr(unsafe.Pointer(&info)), uintptr(flags|unix.WNOHANG), 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return waitNotOurs, 0
		}
		break
	}
	const trapped, stopped, continued = 4, 5, 6 // CLD_TRAPPED and so on
	switch {
	case info.Signo == 0 || info.Code == continued:
		return waitNothing, 0
	case info.Code == trapped || info.Code == stopped:
		raw := (*[unsafe.Sizeof(info)]byte)(unsafe.Pointer(&info))
		return waitStopped, int(binary.LittleEndian.Uint32(raw[24:])) // si_status
	}
	return waitEnded, 0
}

func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
