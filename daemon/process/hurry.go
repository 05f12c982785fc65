package process

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// While a target is held, whoever takes the CPU of the thread that traces it has it held for longer; and so does whoever takes the CPU of any other
// thread of ours: that one may have what the tracing thread waits for, a place to run Go code or the end of a collection of garbage. On a machine with
// forty busy threads for each CPU that made seconds of a stop that takes a millisecond. So all threads of this program have the lowest real-time
// priority for as long as a stop lasts. Nothing is computed meanwhile that takes long, and who waits for a target's threads sleeps in between: they
// need the CPU as well.

// manyThreads is from how many threads on it counts what is done for each.
const manyThreads = 128

// A hurry gives all threads of this program that priority.
type hurry struct {
	mu     sync.Mutex
	stops  int
	before map[int]*unix.SchedAttr // what threads had, by number
}

// inStops is the one of this program.
var inStops hurry

// begin gives the priority to all threads that there are. Those that begin later have an ordinary one. Without the right to it nothing changes.
func (h *hurry) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stops++; processors() < 2 { // whoever the runtime waits for could not run
		return
	}
	if h.before == nil {
		h.before = map[int]*unix.SchedAttr{}
	}
	tids, _ := raw.Tasks(os.Getpid()) // without them this stop takes as long as the machine wants
	for _, tid := range tids {
		if h.before[tid] != nil {
			continue
		}
		before, err := unix.SchedGetAttr(tid, 0)
		if err == nil && unix.SchedSetAttr(tid, &unix.SchedAttr{Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: 1}, 0) == nil {
			h.before[tid] = before
		}
	}
}

// end gives each thread what it had when the last stop is over.
func (h *hurry) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stops--; h.stops > 0 {
		return
	}
	for tid, before := range h.before {
		if !isOurThread(tid) {
			continue // it has ended, and its number may be another's
		}
		if unix.SchedSetAttr(tid, before, 0) != nil { // what it was it may be; but for this flag, which needs a right
			before.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
			_ = unix.SchedSetAttr(tid, before, 0)
		}
	}
	clear(h.before)
}

// processors is on how many CPUs this process may run.
var processors = sync.OnceValue(func() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return 1
	}
	return set.Count()
})
