package process

import (
	"sync"

	"golang.org/x/sys/unix"
)

// While a target stands still whoever takes the processor of the tracer's thread has it stand still for longer; and when its threads are let go,
// each of them that becomes ready may take the processor of the one that has to let go all others: with thousands this doubles the time. From
// when all have stopped until all go on the tracer's thread therefore has the lowest real-time priority. Not before: threads that are to stop
// need the processor more than we do, and so may one that makes a call for us while few others wait.

// manyThreads is from how many threads on it is worth that.
const manyThreads = 128

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
