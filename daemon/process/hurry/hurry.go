// Package hurry gives all threads of this program the lowest real-time priority for as long as a target is held, and collects no garbage meanwhile.
//
// It knows nothing of targets. Of the house it imports the files of /proc below package process only. All of it may be called from any goroutine.
package hurry

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// While a target is held, whoever takes the CPU of the thread that traces it has it held for longer; and so does whoever takes the CPU of any other
// thread of ours: that one may have what the tracing thread waits for, a place to run Go code or the end of a collection of garbage. On a machine with
// forty busy threads for each CPU that made seconds of a stop that takes a millisecond. So all threads of this program have the lowest real-time
// priority for as long as a stop lasts. Nothing is computed meanwhile that takes long, and who waits for a target's threads sleeps in between: they
// need the CPU as well. Threads of equal priority take turns (SCHED_RR): where several culprits hurry, none can take a CPU for ever from the thread that
// its own waits for.
//
// A collection of garbage would be what takes long: at this priority, on all CPUs, where the target's threads need one to stop or to make a call for us.
// One that is under way is waited for before anything is held, and the next one begins when the stop is over. A limit of memory that somebody has set
// (GOMEMLIMIT) holds all the same.

// What is known of the threads of this program.
var (
	mu      sync.Mutex
	stops   int                         // that are under way
	percent int                         // of garbage that is made before it is collected, while none is
	before  = map[int]*unix.SchedAttr{} // what threads had, by number
)

// Begin gives the priority to all threads that there are, until End. Those that begin later have an ordinary one. Without the right to it none gets it.
func Begin() {
	mu.Lock()
	defer mu.Unlock()
	if stops++; stops == 1 {
		percent = debug.SetGCPercent(-1)
	}
	if CPUs() < 2 { // whoever the runtime waits for could not run
		return
	}
	// Whoever the runtime starts while the list is read is on the next one.
	for range 4 {
		if !raiseAll() {
			return
		}
	}
}

// raiseAll gives the priority to all threads that have not got it, and says whether there were any. mu is held.
func raiseAll() bool {
	raised := false
	tids, _ := raw.Tasks(os.Getpid()) // without them this stop takes as long as the machine wants
	for _, tid := range tids {
		if before[tid] != nil {
			continue
		}
		had, err := unix.SchedGetAttr(tid, 0)
		if err == nil && unix.SchedSetAttr(tid, &unix.SchedAttr{Policy: unix.SCHED_RR, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: 1}, 0) == nil {
			before[tid], raised = had, true
		}
	}
	return raised
}

// End gives each thread what it had, when the last stop is over. It is called once for each Begin.
func End() {
	mu.Lock()
	defer mu.Unlock()
	if stops--; stops > 0 {
		return
	}
	defer debug.SetGCPercent(percent)
	for tid, had := range before {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil {
			continue // it has ended, and its number may be another's
		}
		if unix.SchedSetAttr(tid, had, 0) != nil { // what it was it may be; but for this flag, which needs a right
			had.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
			_ = unix.SchedSetAttr(tid, had, 0)
		}
	}
	clear(before)
}

// CPUs is on how many CPUs this process may run.
var CPUs = sync.OnceValue(func() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return 1
	}
	return set.Count()
})
