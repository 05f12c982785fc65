package resume

import (
	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// What a register set says about an interrupted system call.

// Results that the kernel uses within itself when a signal (or our interrupt) breaks into a system call.
const (
	errRestartSys   = -512 // ERESTARTSYS
	errRestartNoInt = -513 // ERESTARTNOINTR
	errRestartHand  = -514 // ERESTARTNOHAND
	errRestartBlock = -516 // ERESTART_RESTARTBLOCK
	errIntr         = -4   // EINTR
)

// Rewindable are the system calls that may be entered again with the same arguments after they returned EINTR without effect.
// Not among them: close, whose descriptor is gone already.
var Rewindable = map[uint64]bool{
	unix.SYS_EPOLL_WAIT: true, unix.SYS_EPOLL_PWAIT: true, unix.SYS_EPOLL_PWAIT2: true,
	unix.SYS_SEMOP: true, unix.SYS_SEMTIMEDOP: true, unix.SYS_RT_SIGTIMEDWAIT: true,
	unix.SYS_READ: true, unix.SYS_READV: true, unix.SYS_PREAD64: true, unix.SYS_PREADV: true, unix.SYS_PREADV2: true,
	unix.SYS_WRITE: true, unix.SYS_WRITEV: true, unix.SYS_PWRITE64: true, unix.SYS_PWRITEV: true, unix.SYS_PWRITEV2: true,
	unix.SYS_RECVFROM: true, unix.SYS_RECVMSG: true, unix.SYS_RECVMMSG: true,
	unix.SYS_SENDTO: true, unix.SYS_SENDMSG: true, unix.SYS_SENDMMSG: true, unix.SYS_SENDFILE: true, unix.SYS_SPLICE: true,
	unix.SYS_ACCEPT: true, unix.SYS_ACCEPT4: true, unix.SYS_CONNECT: true,
	unix.SYS_POLL: true, unix.SYS_PPOLL: true, unix.SYS_SELECT: true, unix.SYS_PSELECT6: true,
	unix.SYS_FUTEX: true, unix.SYS_FUTEX_WAITV: true, unix.SYS_FUTEX_WAIT: true,
	unix.SYS_IO_GETEVENTS: true, unix.SYS_IO_PGETEVENTS: true, unix.SYS_IO_URING_ENTER: true,
	unix.SYS_FLOCK: true, unix.SYS_FCNTL: true, unix.SYS_WAIT4: true, unix.SYS_WAITID: true,
	unix.SYS_MSGSND: true, unix.SYS_MSGRCV: true, unix.SYS_MQ_TIMEDSEND: true, unix.SYS_MQ_TIMEDRECEIVE: true,
	unix.SYS_OPEN: true, unix.SYS_OPENAT: true, unix.SYS_OPENAT2: true, unix.SYS_GETRANDOM: true,
	unix.SYS_NANOSLEEP: true, unix.SYS_CLOCK_NANOSLEEP: true, unix.SYS_PAUSE: true, unix.SYS_RT_SIGSUSPEND: true,
}

// RestartUnlessHandled makes the kernel repeat the call if no handler runs, and return EINTR behind a handler if one does: exactly what
// a call does that knows about restarting. Rewinding the registers instead would lose the EINTR of a signal that arrives in that moment.
const RestartUnlessHandled = ^uint64(-errRestartHand - 1)

// InSyscall says whether the thread was broken out of a system call that the kernel will repeat when it goes on from this stop.
func InSyscall(r *unix.PtraceRegs) bool {
	if int64(r.Orig_rax) < 0 {
		return false
	}
	switch int64(r.Rax) {
	case errRestartSys, errRestartNoInt, errRestartHand, errRestartBlock:
		return true
	}
	return false
}

// BrokenByUs: the program would see an EINTR that is due to us only, or to a signal that is still to be delivered.
func BrokenByUs(r *unix.PtraceRegs) bool {
	return int64(r.Orig_rax) >= 0 && int64(r.Rax) == errIntr && Rewindable[uint64(uint32(r.Orig_rax))]
}

// HasRest says whether the kernel remembers what is left of the interrupted call's time (restart_syscall(2)). A return from a signal forgets it.
func HasRest(r *unix.PtraceRegs) bool { return InSyscall(r) && int64(r.Rax) == errRestartBlock }

// BeginsAnew: the call is made again as if for the first time. It had told the kernel to do so; or the thread had no time for it since an earlier stop.
func BeginsAnew(r *unix.PtraceRegs) bool {
	return int64(r.Orig_rax) >= 0 && int64(r.Rax) == errRestartHand && Rewindable[uint64(uint32(r.Orig_rax))]
}

// rereads says whether a call writes what is left of its time to where it has read it, and goes on with what stands there.
func rereads(nr uint64) bool { return nr == unix.SYS_PPOLL || hasSets(nr) }

// Rewound is the state in which the thread makes its interrupted call once more. For any other state it is the state itself.
func Rewound(r unix.PtraceRegs) unix.PtraceRegs {
	if InSyscall(&r) {
		r.Rip -= raw.SyscallLength
		r.Rax = r.Orig_rax
	}
	r.Orig_rax = ^uint64(0)
	return r
}
