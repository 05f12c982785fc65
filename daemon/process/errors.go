package process

import (
	"errors"
	"fmt"

	"culprit/daemon/process/remote"
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
	ErrWorldOver = remote.ErrOver
)

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
