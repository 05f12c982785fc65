package kernel

import (
	"time"

	"golang.org/x/sys/unix"
)

// OwnThreadTime is the processor time of the thread that calls it; 0 if there is no such clock. Lock the goroutine to its thread to
// compare two readings.
func OwnThreadTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// OwnTime is the processor time of this process, all of its threads; 0 if that is not known.
func OwnTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
