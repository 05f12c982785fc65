package children

import (
	"culprit/daemon/kernel"
	"culprit/daemon/process"
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
