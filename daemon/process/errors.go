package process

import (
	"errors"
	"fmt"
	"time"
)

// Errors that say what became of the target. They are returned wrapped: test with errors.Is.
var (
	// ErrNotFound: there is no process with this id.
	ErrNotFound = errors.New("no such process")
	// ErrKernelThread: the id belongs to a thread of the kernel, which has no user code.
	ErrKernelThread = errors.New("it is a kernel thread: there is no program in it to measure")
	// ErrZombie: the process has ended and only waits for its parent to notice.
	ErrZombie = errors.New("the process has already ended (zombie)")
	// ErrTargetExited: the process that was opened has ended.
	ErrTargetExited = errors.New("the target has exited")
	// ErrTargetExeced: the process that was opened now runs another program; open it again.
	ErrTargetExeced = errors.New("the target has executed another program: attach again")
	// ErrClosed: the Process was closed by us.
	ErrClosed = errors.New("process handle is closed")
	// ErrWorldOver: a World was used after the function given to Stop had returned.
	ErrWorldOver = errors.New("the world is running again: a World is valid only within Stop")
)

// Unsupported says that the target is of a kind that cannot be handled, and what would have to be different.
type Unsupported struct {
	What  string // what was met, for example "32-bit program"
	Needs string // what would be needed, for example "CAP_SYS_ADMIN"

	Passes bool // it is so only where the target's threads stand at the moment
}

// Error is one line for a person.
func (e *Unsupported) Error() string {
	if e.Needs == "" {
		return "not supported: " + e.What
	}
	return "not supported: " + e.What + "; needs " + e.Needs
}

// Traced says that another program traces the target; only one can.
type Traced struct {
	PID        int
	Tracer     int    // thread id of the tracer as the kernel names it
	TracerName string // its name, cleaned of control characters; "" if unknown
}

// Error names the tracer.
func (e *Traced) Error() string {
	return fmt.Sprintf("process %d is already traced by %d (%s): end that first", e.PID, e.Tracer, e.TracerName)
}

// NotPermitted says why the kernel refuses us the target.
type NotPermitted struct {
	PID     int
	Missing string // the capability or setting that is missing, in a sentence
	Command string // a command that would help; "" if there is none
}

// Error is the reason followed by the command that would help.
func (e *NotPermitted) Error() string {
	s := fmt.Sprintf("not permitted to attach to process %d: %s", e.PID, e.Missing)
	if e.Command != "" {
		s += "; try: " + e.Command
	}
	return s
}

// Deferred says that one thread could not be stopped in time. Everything was resumed; try again later.
type Deferred struct {
	TID    int
	State  byte // its state letter in /proc, mostly 'D'; 0 if unknown
	Waited time.Duration
	InCall bool // it has stopped, but has not completed a call that it was to make for us
}

// Error names the thread and its state.
func (e *Deferred) Error() string {
	state := string(e.State)
	if e.State == 0 {
		state = "unknown"
	}
	if e.InCall {
		return fmt.Sprintf("deferred: thread %d in state %s does not complete a system call; is the process frozen (cgroup.freeze)? Thaw it, then try again; all threads were resumed",
			e.TID, state)
	}
	return fmt.Sprintf("deferred: thread %d in state %s did not stop within %v; all threads were resumed", e.TID, state, e.Waited.Round(time.Millisecond))
}

// WriteError says that bytes could not be written, or that other bytes were read back.
type WriteError struct {
	Addr Addr   // first address that was not written as asked
	Want []byte // what should be there; nil if the write itself failed
	Got  []byte // what was read back
	Err  error  // the kernel's answer; nil if only the comparison failed
}

// Error names the address.
func (e *WriteError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("write to %v failed: %v", e.Addr, e.Err)
	}
	return fmt.Sprintf("write to %v did not take: wrote % x, read back % x", e.Addr, e.Want, e.Got)
}

// Unwrap gives the kernel's answer.
func (e *WriteError) Unwrap() error { return e.Err }
