package attach

import (
	"context"
	"errors"
	"fmt"
	"os"

	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/stops"
)

// MaySample reports whether stack samples may still be had where probes cannot: not of what is no process any more, nor of one that
// could be patched a moment later, or as soon as it is cleaned up.
func MaySample(err error) bool {
	for _, e := range []error{process.ErrNotFound, process.ErrKernelThread, process.ErrZombie, process.ErrTargetExited, process.ErrTargetExeced,
		process.ErrClosed, segment.ErrHalf, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return false
		}
	}
	var taken *Taken
	if errors.As(err, &taken) {
		return taken.Alive()
	}
	return !Unstopped(err)
}

// ChildMaySample is MaySample for a child. One in which our own probes are alive runs on the memory of the target that has just started it: it
// will have its own in a moment.
func ChildMaySample(err error) bool {
	var taken *Taken
	return MaySample(err) && !(errors.As(err, &taken) && taken.Owner == os.Getpid())
}

// Unstopped reports whether all that was wrong is that a process could not be stopped in time.
func Unstopped(err error) bool {
	var deferred *process.Deferred
	var long *stops.TooLong
	return errors.As(err, &deferred) || errors.As(err, &long)
}

// Why says in a report for what reason a process is only looked at.
func Why(err error) string {
	var taken *Taken
	if errors.As(err, &taken) && taken.Alive() {
		return fmt.Sprintf("culprit with pid %d measures it", taken.Owner)
	}
	return err.Error()
}
