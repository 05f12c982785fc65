package process

import (
	"fmt"

	"culprit/daemon/process/raw"
	"culprit/daemon/syscalls"
)

// What threads may have forbidden themselves: code of ours that they came to would be a signal for them, which ends most programs.

// Modes knows what the threads of a process have forbidden themselves, without stopping it.
type Modes interface {
	Of(pid int) (syscalls.Mode, error)
}

// KnowModes sets what knows of that. Without it threads are asked, which takes a call of each. It is called from any goroutine.
func (p *Process) KnowModes(m Modes) { p.modes.Store(&m) }

// Forbids says what some thread has forbidden itself that probes need: an *Unsupported, nil if there is none or nobody knows. It takes some 20 us,
// and stops nobody. It is called from any goroutine.
func (p *Process) Forbids() error {
	mode, _ := p.mode()
	return Forbidden(mode)
}

// Forbidden says what threads with a mode have forbidden themselves that probes need: an *Unsupported, nil if it is nothing.
func Forbidden(mode syscalls.Mode) error {
	switch {
	case mode.Dispatched:
		return forbidsCalls("a thread")
	case mode.NoTSC:
		return forbidsTSC("a thread")
	}
	return nil
}

// SeesForbidden reports whether Forbids knows.
func (p *Process) SeesForbidden() bool {
	_, known := p.mode()
	return known
}

// mode is what is known of the threads.
func (p *Process) mode() (mode syscalls.Mode, known bool) {
	m := p.modes.Load()
	if m == nil {
		return mode, false
	}
	mode, err := (*m).Of(p.pid)
	return mode, err == nil
}

func forbidsTSC(who string) error {
	return &raw.Unsupported{What: fmt.Sprintf("a program of which %s has forbidden itself to read the time-stamp counter (PR_SET_TSC)", who), Needs: "threads that may read it"}
}

func forbidsCalls(who string) error {
	return &raw.Unsupported{What: fmt.Sprintf("a program of which %s has its system calls turned into signals (PR_SET_SYSCALL_USER_DISPATCH)", who),
		Needs: "system calls that go to the kernel"}
}

// Forbids says what some thread has forbidden itself that probes need: an *Unsupported, nil if there is none as far as the kernel tells. sure is
// false where it does not tell of the time-stamp counter: then threads are to be asked (MayReadTSC).
func (w *World) Forbids() (sure bool, err error) {
	if w.over {
		return false, ErrWorldOver
	}
	mode, known := w.s.p.mode()
	if known {
		return true, Forbidden(mode)
	}
	if tid := w.calls.Dispatched(); tid != 0 {
		return false, forbidsCalls(fmt.Sprintf("thread %d", tid))
	}
	return false, nil
}

// MayReadTSC is nil if a thread may read the time-stamp counter, and an *Unsupported if not. It has the thread make a call, so whether a call can be
// made is to be asked before (Forbids). asked is false where that one cannot make a call now.
func (w *World) MayReadTSC(tid int) (asked bool, err error) {
	may, asked, err := w.calls.MayReadTSC(tid)
	if asked && !may {
		err = forbidsTSC(fmt.Sprintf("thread %d", tid))
	}
	return asked, err
}
