package measuring

import (
	"path"

	"culprit/grid"
)

// Facts are what is told of a process to those who do not wait for it.
type Facts struct {
	Info    grid.TargetInfo // but for host, times and threads
	Patched int             // sites in its text, while it lives and was not left
	IsGo    bool            // whether its program is of Go
}

// Facts tells them as of now, or while somebody else has the lock as of the last time that nobody had it. Any goroutine may ask.
func (t *Process) Facts() *Facts {
	if t.TryLock() {
		defer t.Unlock()
		t.facts.Store(factsOf(t))
	}
	return t.facts.Load()
}

func factsOf(t *Process) *Facts {
	f := &Facts{Patched: patchedIn(t), Info: grid.TargetInfo{PID: t.Proc.PID(), Exe: t.Exe, Lossy: t.Lossy, Stopped: t.Threads.Stopped(), Frozen: t.freeze.by, Rank: t.Rank, Backend: backendOf(t), Why: whyLooking(t)}}
	if len(t.Objects()) > 0 {
		f.Info.Exe, f.Info.Runtime, f.Info.Interprets = path.Join(path.Dir(t.Exe), t.Main().Name), t.Runtime(), t.Interprets()
		f.Info.NamesGenerated, f.Info.BuildID = t.Generates(), t.Main().BuildID()
		f.IsGo = t.Main().IsGo()
	}
	return f
}

// patchedIn is how many sites are in the text of a process that lives and was not left.
func patchedIn(t *Process) int {
	if t.Detached || t.Ended() {
		return 0
	}
	return len(t.Text.Patched())
}

// backendOf is how the process is measured.
func backendOf(t *Process) grid.Backend {
	switch {
	case !t.OnlyLooked():
		return grid.BackendProbe
	case t.Common.Backend == grid.BackendEBPF:
		return grid.BackendEBPF
	}
	return grid.BackendSample
}

// whyLooking is why it is only looked at; "" if probes are put into it.
func whyLooking(t *Process) string {
	if t.OnlyLooked() {
		return t.WhySampled
	}
	return ""
}
