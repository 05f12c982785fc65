package children

import (
	"runtime"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
	"culprit/internal/procfs"
)

// lateJoin is how long after its beginning a process is measured so that it is said, in s: most are sooner.
const lateJoin = 0.05

// Late says in how many processes something was measured late. A process that a target starts runs for a while before it is seen and probes are
// in it; what it did until then is in no count.
type Late struct {
	Processes int
	Most      float64 // s after the beginning
}

// Note notes one more process, which had run for so many seconds.
func (l *Late) Note(age float64) {
	l.Processes++
	l.Most = max(l.Most, age)
}

// LateBy is how long a process has run, in s, in a session that is so old; ok is false if it was joined soon, or ran before the session: such
// a process is as those that were attached to.
func LateBy(pid int, session float64) (age float64, ok bool) {
	start := process.StartTime(pid)
	if start == 0 {
		return 0, false
	}
	age = kernel.Age(start)
	return age, age > lateJoin && age < session
}

// BornWithin reports whether a process has begun within a session that is so old, in s.
func BornWithin(pid int, session float64) bool {
	start := process.StartTime(pid)
	return start != 0 && kernel.Age(start) < session
}

// newborn is how young a process is of which it is not known yet whether it ends soon, in s.
const newborn = 1.0

// lateBirth is for how long after the last birth of a child the targets may have some that have ended a wait lately.
const lateBirth = 10 * time.Second

// EndsSoon reports whether a process that is not measured has ended, or has begun lately: what ended a wait lately is one of many children that end soon
// then, or may be one. Others end as soon, upon which the interrupts of timers come: it is false where the targets had no children lately.
func (w *Watcher) EndsSoon(pid int) bool {
	if time.Since(w.LastBirth()) > lateBirth {
		return false
	}
	start := process.StartTime(pid)
	return start == 0 || kernel.Age(start) < newborn
}

// sample takes those that are not joined yet and run now for having run since the last poll, for as much of it as they had a CPU when they wanted one. What ends between two polls is not seen at one of them, and
// what is seen stands for it: the sum is right in the mean.
func (w *Watcher) sample(now time.Time) {
	since := now.Sub(w.polled)
	if w.polled.IsZero() || since > longestRest { // the first time, or others have held it up
		since = 0
	}
	w.polled = now
	running := 0.0
	for pid, y := range w.young {
		if s, err := procfs.ReadStat(pid); err == nil && s.Start == y.start && s.State == 'R' {
			running += kernel.RunningShare(pid)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran += time.Duration(min(running, float64(runtime.NumCPU())) * float64(since))
}

// Ran is about how much CPU time processes have used before they were joined, or until they ended, by samples.
func (w *Watcher) Ran() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ran
}
