package measuring

import (
	"time"

	"culprit/daemon/process"
)

// freezeEvery is how often the control groups of a process are asked whether they have frozen it.
const freezeEvery = time.Second

// A freeze is what the control groups of a process said when they were asked last.
type freeze struct {
	at time.Time
	by string
}

// of is the file that says that a process is frozen; "" if it is not, or if that is not known. Where a thread runs nobody is asked.
func (f *freeze) of(t *Process) string {
	switch {
	case t.Ended() || !t.Threads.Still():
		f.by = ""
	case time.Since(f.at) >= freezeEvery:
		f.at, f.by = time.Now(), process.FrozenBy(t.Proc.PID())
	}
	return f.by
}
