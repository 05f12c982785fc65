package kernel

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// TimerSlack is how late timers of the calling thread may run out: 50 us, unless somebody has said otherwise. 0 if that is not known.
func TimerSlack() time.Duration {
	ns, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return 0
	}
	return time.Duration(ns)
}

// SetTimerSlack lets timers of this process run out late, by this much at most, so that the kernel serves them together with its own
// ticks. It holds for the threads that there are and for those that they make, and is left to a program that is executed by one of them.
// It takes CAP_SYS_NICE; without it the error is os.ErrPermission, and what cannot be set stays as it is.
func SetTimerSlack(late time.Duration) error {
	value := []byte(strconv.FormatInt(late.Nanoseconds(), 10))
	set := map[string]bool{}
	for { // as long as there are new threads, which may have been made by one that had the old value
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		before := len(set)
		for _, t := range threads {
			if set[t.Name()] {
				continue
			}
			set[t.Name()] = true
			err := os.WriteFile("/proc/"+t.Name()+"/timerslack_ns", value, 0)
			if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH) { // it has ended
				return err
			}
		}
		if len(set) == before {
			return nil
		}
	}
}
