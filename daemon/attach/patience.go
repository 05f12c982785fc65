package attach

import (
	"context"
	"errors"
	"time"

	"culprit/daemon/process"
)

// A process that cannot be stopped in time can be a moment later: a thread waits in the kernel and cannot be interrupted there, or the
// machine is busy. Each try holds the other threads until its deadline, so there are few.
const (
	tries       = 3
	pause       = 300 * time.Millisecond // between two tries
	longestWait = 3 * time.Second        // at most, for a thread that cannot be interrupted
)

// Patiently attaches to a process that somebody has named: what cannot be stopped, or becomes another program meanwhile, is tried again. It
// returns the last error.
func Patiently(ctx context.Context, pid int, attach func(pid int) error) error {
	err := attach(pid)
	for n := 1; n < tries && (Unstopped(err) || errors.Is(err, process.ErrTargetExeced)) && stoppable(ctx, pid, err); n++ {
		err = attach(pid)
	}
	return err
}

// stoppable waits a moment, and until the thread that did not stop can be interrupted. It is false if that is never so in the time.
func stoppable(ctx context.Context, pid int, err error) bool {
	var deferred *process.Deferred
	tid := pid
	if errors.As(err, &deferred) {
		tid = deferred.TID
	}
	time.Sleep(pause)
	for end := time.Now().Add(longestWait); process.ThreadState(pid, tid) == 'D'; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) || ctx.Err() != nil {
			return false
		}
	}
	return ctx.Err() == nil
}
