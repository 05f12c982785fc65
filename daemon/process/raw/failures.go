package raw

import (
	"fmt"
	"time"
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

// Deferred says that one thread could not be stopped in time. Everything was resumed; try again later.
type Deferred struct {
	TID    int
	State  byte // its state letter in /proc, mostly 'D'; 0 if unknown
	Waited time.Duration
	InCall bool   // it has stopped, but has not completed a call that it was to make for us
	Frozen Frozen // when that was found
}

// Error names the thread and its state.
func (e *Deferred) Error() string {
	state := string(e.State)
	if e.State == 0 {
		state = "unknown"
	}
	what := fmt.Sprintf("did not stop within %v", e.Waited.Round(time.Millisecond))
	if e.InCall {
		what = "does not complete a system call"
	}
	return fmt.Sprintf("deferred: thread %d in state %s %s%s; all threads were resumed", e.TID, state, what, e.frozen())
}

// frozen says what control groups have to do with it. A frozen thread is in uninterruptible sleep, or stops for us and makes no call.
func (e *Deferred) frozen() string {
	switch {
	case e.Frozen.By != "":
		return fmt.Sprintf("; its control group is frozen (%s): thaw it, then try again", CleanName(e.Frozen.By))
	case !e.Frozen.Known && (e.State == 'D' || e.InCall):
		return "; its control group may be frozen (cgroup.freeze): if so thaw it, then try again"
	}
	return ""
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
