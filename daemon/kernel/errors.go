package kernel

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// ErrGone says that the process or thread has ended.
var ErrGone = errors.New("the process or thread has ended")

// NotPermitted says that the kernel refuses to show something, and what would help.
type NotPermitted struct {
	What   string // what was asked for
	Remedy string // what to do, as a sentence or a command
	Err    error  // the kernel's answer
}

// Error is one line: what is refused and what would help.
func (e *NotPermitted) Error() string {
	return fmt.Sprintf("%s is not permitted (%v): %s", e.What, e.Err, e.Remedy)
}

// Unwrap returns the kernel's answer.
func (e *NotPermitted) Unwrap() error { return e.Err }

// Unsupported says that this kernel or processor lacks something.
type Unsupported struct {
	What  string // what was asked for
	Needs string // what it needs
}

// Error is one line: what is not there and what it needs.
func (e *Unsupported) Error() string { return e.What + " is not supported here: needs " + e.Needs }

const ptraceRemedy = "run as the process's own user with kernel.yama.ptrace_scope = 0, as root, or with CAP_SYS_PTRACE"

// explain turns the errors of /proc into this package's.
func explain(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ESRCH), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", what, ErrGone)
	case errors.Is(err, fs.ErrPermission):
		return &NotPermitted{What: what, Remedy: ptraceRemedy, Err: err}
	}
	return fmt.Errorf("%s: %w", what, err)
}
