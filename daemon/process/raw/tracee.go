package raw

import (
	"time"

	"golang.org/x/sys/unix"
)

// A Phase is where a traced thread is.
type Phase int

// The phases.
const (
	Running  Phase = iota // or not known to have stopped yet
	AtStop                // at an interrupt stop; regs are valid
	Asleep                // in a system call, which it does not come back from before it is let go; regs are those that it entered with
	Released              // detached
	Ended
)

// A Tracee is one thread that we have seized.
type Tracee struct {
	TID    int
	Phase  Phase
	Group  bool          // in a job-control stop
	Stray  bool          // belongs to a child process: to be released as soon as it can be
	Asked  time.Duration // when it was interrupted last, on the monotonic clock
	Adrift bool          // was left in an injected call: its registers must not be touched before it has completed that by itself
	Keep   bool          // its end is collected by somebody else in this process

	Seccomp    *int  // its mode, once it has been asked for
	Dispatched *bool // whether its system calls are a signal, once it has been asked for

	Holding bool          // is to get a signal where a call is over
	Sleeps  bool          // was seen within that call, with these registers, and need not be asked to stop
	Blocked uint64        // and blocks these signals, the first in the lowest bit
	Ran     time.Duration // processor time when it was first looked at, or had moved a piece
	Moved   time.Duration // when it had
	Regs    unix.PtraceRegs
}

// Interrupt asks a thread to stop. One that is ending does not, and the wait will say so.
func (tr *Tracee) Interrupt() {
	tr.Asked = Monotonic()
	_ = unix.PtraceInterrupt(tr.TID)
}

// GoOn resumes a thread on its way to the interrupt stop. The interrupt must be asked for anew: every stop takes back one that was pending.
func GoOn(tr *Tracee, sig int) {
	tr.Interrupt()
	_ = unix.PtraceCont(tr.TID, sig)
}

// Detach lets a stopped thread go, with a signal if sig is not 0.
func Detach(tr *Tracee, sig int) {
	if ptraceDetach(tr.TID, sig) == nil {
		tr.Phase = Released
	} else {
		tr.Phase = Ended
	}
}

// A Stopped is one thread at rest.
type Stopped struct {
	TID int
	// Regs as the kernel shows them; Fs_base is the thread pointer. Changing them has no effect.
	Regs unix.PtraceRegs
	// InSyscall: the thread was broken out of a system call that it will make again.
	InSyscall bool
}

// PC is where the thread goes on.
func (t *Stopped) PC() Addr { return Addr(t.Regs.Rip) }

// Within says whether the thread may go on strictly inside (lo, hi): at an address where an instruction that starts at lo has been replaced.
// A thread in a system call counts with both addresses, that behind the syscall instruction and that of the instruction itself.
func (t *Stopped) Within(lo, hi Addr) bool {
	pc := t.PC()
	if pc > lo && pc < hi {
		return true
	}
	return t.InSyscall && pc-SyscallLength > lo && pc-SyscallLength < hi
}
