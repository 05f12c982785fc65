package process

import (
	"errors"
	"time"

	"culprit/daemon/process/raw"
)

// patientFor is how long Patiently goes on trying.
const patientFor = 10 * time.Second

// A Passing is an error that says that something stands in the way which goes away by itself: a thread that is at a place that changes, say.
type Passing interface {
	error
	Passing() bool
}

// NewPassing makes a Passing error.
func NewPassing(text string) error { return passing(text) }

type passing string

func (e passing) Error() string { return string(e) }

func (e passing) Passing() bool { return true }

// Patiently tries until nothing stands in the way that goes away by itself, for at most 10 s, and returns the last error. A thread may not be
// stopped in time, may stand where nothing can be changed, or where there is no room on its stack for a call of ours.
func Patiently(try func() error) error {
	for n, start := 0, time.Now(); ; n++ {
		err := try()
		if !GoesAway(err) || time.Since(start) > patientFor {
			return err
		}
		time.Sleep(time.Duration(1+min(n/10, 20)) * time.Millisecond)
	}
}

// GoesAway reports whether an error says that another try may do better.
func GoesAway(err error) bool {
	var deferred *raw.Deferred
	var unsupported *raw.Unsupported
	var passing Passing
	return errors.As(err, &deferred) || errors.As(err, &unsupported) && unsupported.Passes || errors.As(err, &passing) && passing.Passing()
}

// Late is the error where a call in a process is not complete, for all that is known.
func Late(pid int) *Deferred { return raw.Late(pid, pid, 0, true) }

// Gone reports whether the process has ended or executes another program.
func (p *Process) Gone() bool {
	select {
	case <-p.Done():
		return true
	default:
	}
	return SaysGone(p.CheckExec())
}

// SaysGone reports whether an error says that the process has ended or executes another program.
func SaysGone(err error) bool {
	return errors.Is(err, ErrTargetExited) || errors.Is(err, ErrTargetExeced)
}

// GoneBy tells that the process has ended, or that this is why something failed: one that is killed has lost its threads, and then its memory,
// some time before it is seen to have ended.
func (p *Process) GoneBy(err error) bool {
	return SaysGone(err) || err != nil && p.Gone()
}

// GivenUp reports whether a call in the process was given up: it completes by itself, some time later.
func GivenUp(err error) bool {
	var deferred *raw.Deferred
	return errors.As(err, &deferred) && deferred.InCall
}
