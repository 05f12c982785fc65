package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"culprit/daemon/process"
	"culprit/grid"
)

// A process that cannot be stopped in time can be a moment later: a thread waits in the kernel and cannot be interrupted there, or the
// machine is busy. Each try holds the other threads until its deadline, so there are few.
const (
	attachTries = 3
	attachPause = 300 * time.Millisecond // between two tries
	attachWait  = 3 * time.Second        // at most, for a thread that cannot be interrupted
)

// attachPatiently is attach for a process that somebody has named: what cannot be stopped, or becomes another program meanwhile, is tried
// again. What cannot be stopped then is only looked at if the options leave that open.
func (d *Daemon) attachPatiently(ctx context.Context, pid int) error {
	err := d.attach(pid)
	for try := 1; try < attachTries && (unstopped(err) || errors.Is(err, process.ErrTargetExeced)) && stoppable(ctx, pid, err); try++ {
		err = d.attach(pid)
	}
	if !unstopped(err) || ctx.Err() != nil {
		return err
	}
	if d.opts.Backend == grid.BackendAuto && d.lookOnly(pid, err) == nil {
		return nil
	}
	return fmt.Errorf("%w; try again later, or measure by sampling: --backend sample", err)
}

// stoppable waits a moment, and until the thread that did not stop can be interrupted. It is false if that is never so in the time.
func stoppable(ctx context.Context, pid int, err error) bool {
	var deferred *process.Deferred
	tid := pid
	if errors.As(err, &deferred) {
		tid = deferred.TID
	}
	time.Sleep(attachPause)
	for end := time.Now().Add(attachWait); process.ThreadState(pid, tid) == 'D'; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) || ctx.Err() != nil {
			return false
		}
	}
	return ctx.Err() == nil
}
