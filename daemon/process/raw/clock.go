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

// Backoff waits a little for n threads. Each needs some microseconds to be woken and to stop, which the kernel tells the thread that traces it by a signal
// (SIGCHLD): that ends the nap. To look meanwhile takes the CPU that the thread may wait for: a call in a target beside full CPUs took 85 µs with a nap
// that only the signal ends, 130 with four looks at once and then one every 10 µs, and 700 with one every microsecond. Of many threads some stop all the time,
// and the more there are the longer a look takes: they are looked after more seldom, up to a third of the time that it took until then.
func Backoff(round, n int) {
	const few, each, most, many = 10 * time.Microsecond, 2 * time.Microsecond, 500 * time.Microsecond, 64
	switch longer := min(max(round-4, 0)/2, 6); {
	case round >= 200:
		Nap(time.Millisecond)
	case n < many:
		Nap(most)
	default:
		Nap(min(max(few<<longer, time.Duration(n)*each), most))
	}
}

// Nap sleeps in the kernel; the runtime's timers would hand this locked goroutine to another thread and back.
func Nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil)
}
