package raw

import (
	"time"

	"golang.org/x/sys/unix"
)

// Monotonic is the time of the monotonic clock.
func Monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // it cannot fail
	return time.Duration(ts.Nano())
}

// Backoff waits a little for n threads: those on a CPU stop within microseconds, others may take long. Each needs a few to be woken and to stop. Who waits
// for a CPU may wait for ours, so that it is looked after ever more seldom, up to a third of the time that it took until then.
func Backoff(round, n int) {
	const few, each, most = 10 * time.Microsecond, 2 * time.Microsecond, 500 * time.Microsecond
	switch longer := min(max(round-4, 0)/2, 6); {
	case round < 4 && n < 16:
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // the runtime's own way hands this locked goroutine over and back: some 40 us
	case round < 200:
		Nap(min(max(few<<longer, time.Duration(n)*each), most))
	default:
		Nap(time.Millisecond)
	}
}

// Nap sleeps in the kernel; the runtime's timers would hand this locked goroutine to another thread and back.
func Nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}
