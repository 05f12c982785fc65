package process

import (
	"sync"

	"golang.org/x/sys/unix"
)

// While a target stands still, and while its threads are woken to stop and to go on, each of them that becomes ready may take the processor of
// the thread that has to wake all others: with thousands this doubles the time. In a stop the tracer's thread is therefore one of the lowest
// real-time priority. It sleeps while it waits for threads to stop, so those that share its processor come to do so.

// hurry gives this thread that priority, until the function that it returns is called. Without the right to it nothing changes. Where there is
// one processor only, whoever the runtime waits for could not run.
func hurry() (asBefore func()) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || processors() < 2 || unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: 1}, 0) != nil {
		return func() {}
	}
	before.Flags |= unix.SCHED_FLAG_RESET_ON_FORK // to take that back needs a right
	return func() {
		_ = unix.SchedSetAttr(0, before, 0) // what it was it may be
	}
}

// processors is on how many processors this process may run.
var processors = sync.OnceValue(func() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return 1
	}
	return set.Count()
})
