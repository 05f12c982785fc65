package children

import (
	"runtime"
	"sync"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
)

const (
	// followShare is the share of a processor that looking for new processes may take: where numbers are given out by the thousand,
	// to threads that come and go, it is done more rarely.
	followShare = 0.004
	longestRest = 2 * time.Second
	// scanInterval is how often all processes are looked at, in case one was missed.
	scanInterval = 30 * time.Second
	// maxGenerations bounds how deep the tree of the targets' descendants is looked at when attaching.
	maxGenerations = 100
)

// A Host is who measures processes, as a Watcher knows it. Its functions are called by whoever calls the Watcher.
type Host struct {
	IsTarget func(pid int) bool  // whether a process is measured and has not ended
	Join     func(pid int) error // begins to measure a process; errors are those of package process
	Logf     func(format string, args ...any)
}

// A Watcher knows the processes that targets have started and that are not measured, or not yet.
type Watcher struct {
	host    Host
	births  kernel.Births
	scanned time.Time
	rest    time.Time      // until when nobody looks
	young   map[int]young  // put off, by pid
	shunned map[int]uint64 // cannot be measured, by pid: their start time
	elders  map[int]bool   // ancestors of the first targets: what loses its parent becomes a child of one of them

	polled time.Time // when Poll was called last

	mu    sync.Mutex
	ran   time.Duration  // CPU time of processes that were not joined yet, by samples
	born  time.Time      // when a target last had a child
	again []int          // were targets and have executed another program
	late  map[int]Former // of those, the ones that are not joined yet and may still be

	restarts int
	search   search
}

// A search is one for what the last target has left behind: a daemon that begins to work when its parent has ended.
type search int

const (
	notAsked search = iota
	asked           // the next Poll looks through all processes
	searched        // some of what was found may still be joined
	none            // for good: the session ends
)

// A Former is what a process was before it executed another program.
type Former struct {
	Name  string // of the target
	Child bool   // it was started by a target
	Start uint64 // of the process, in clock ticks since boot
	time  int    // how many times anything was Restarted before
}

// Now says what a process is that is measured under a name from now on; a zero Former is that of a process that was not measured before.
func (f Former) Now(name string) string {
	if f.Name == "" {
		return name + " was started by a target and is measured too"
	}
	return f.Name + " has executed another program and is measured as " + name + " now"
}

// NewWatcher is a watcher that knows no process yet.
func NewWatcher(h Host) *Watcher {
	return &Watcher{host: h, young: map[int]young{}, shunned: map[int]uint64{}, elders: map[int]bool{}, late: map[int]Former{}}
}

// Close gives back what the kernel was asked with.
func (w *Watcher) Close() { w.births.Close() }

// Adopt joins all descendants that the first targets have now, one generation after the other.
func (w *Watcher) Adopt(targets []int) {
	w.births.Next()
	w.scanned = time.Now()
	for _, pid := range targets {
		w.noteElders(pid)
	}
	for range maxGenerations {
		joined := false
		for _, p := range w.kin(kernel.Processes()) {
			joined = w.meet(p, time.Now(), true) || joined
		}
		if !joined {
			return
		}
	}
}

// Due reports whether it is time to look again.
func (w *Watcher) Due(now time.Time) bool { return !now.Before(w.rest) || w.searches(asked) }

// Poll joins what has begun since the last look, what was put off and may be joined now, and what has executed another program.
func (w *Watcher) Poll(now time.Time) {
	for _, p := range w.kin(w.begun(now)) {
		w.meet(p, now, false)
	}
	w.sample(now)
	w.meetPutOff(now)
	w.meetRestarted(now)
	if len(w.young) == 0 {
		w.goOn(searched, none)
	}
}

// begun lists what has begun since the last look, and notes when to look next.
func (w *Watcher) begun(now time.Time) []kernel.Parentage {
	runtime.LockOSThread() // for its clock
	defer runtime.UnlockOSThread()
	before := kernel.OwnThreadTime()
	begun := w.births.Next()
	if w.goOn(asked, searched) || now.Sub(w.scanned) >= scanInterval {
		w.scanned = now
		begun = kernel.Processes()
		w.forgetShunned()
	}
	used := kernel.OwnThreadTime() - before
	w.rest = now.Add(min(time.Duration(float64(used)/followShare), longestRest))
	return begun
}

// forgetShunned forgets those that have ended.
func (w *Watcher) forgetShunned() {
	for pid, start := range w.shunned {
		if process.StartTime(pid) != start {
			delete(w.shunned, pid)
		}
	}
}

// Restarted tells that a target has ended as one by executing another program: it is to be joined again.
func (w *Watcher) Restarted(pid int, was Former) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again = append(w.again, pid)
	w.restarts++
	was.time = w.restarts
	w.late[pid] = was
}

// Awaits reports whether a process that was Restarted has not been joined again yet, and may still be.
func (w *Watcher) Awaits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.late) > 0
}

// SearchesLeft reports, when no target is left, whether a child that the last one has left behind may still be joined. It is asked until it is
// false; Poll makes the search.
func (w *Watcher) SearchesLeft() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.search == notAsked {
		w.search = asked
	}
	return w.search != none
}

// Leave says that nobody polls any longer: what the last target leaves behind is not searched for.
func (w *Watcher) Leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.search = none
}

func (w *Watcher) searches(s search) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.search == s
}

// goOn has the search go from one state to the next, and tells whether it was in the first: meanwhile the session may have left.
func (w *Watcher) goOn(from, to search) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.search != from {
		return false
	}
	w.search = to
	return true
}

// Was is what a process was that was Restarted and has not been joined again yet; ok is false of any other.
func (w *Watcher) Was(pid int) (was Former, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was, ok = w.late[pid]
	return was, ok
}

// decided notes that a process was joined, or never will be.
func (w *Watcher) decided(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.late, pid)
}

// times tells one Restarted of a process from the next; 0 if it is in none.
func (w *Watcher) times(pid int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.late[pid].time
}

// decidedUnlessAgain is decided for what was Restarted at a time: what has executed yet another program meanwhile is to be joined again.
func (w *Watcher) decidedUnlessAgain(pid, time int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.late[pid].time == time {
		delete(w.late, pid)
	}
}

// LastBirth is when a target was last seen to have a new child; zero if none was.
func (w *Watcher) LastBirth() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.born
}
