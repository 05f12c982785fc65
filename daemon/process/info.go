package process

import (
	"fmt"
	"math/rand/v2"

	"culprit/daemon/process/raw"
	"culprit/daemon/syscalls"
	"culprit/internal/procfs"
)

// A Thread is one line of what a process listing shows.
type Thread struct {
	TID   int
	Comm  string // cleaned of control characters
	State byte   // R, S, D, T, t, Z, X
}

// Threads lists the threads of the target in order of id. Threads that end meanwhile are left out, and so are the kernel's workers.
func (p *Process) Threads() ([]Thread, error) {
	release, err := p.use()
	if err != nil {
		return nil, err
	}
	defer release()
	tids, err := raw.Threads(p.pid)
	if err != nil {
		return nil, p.gone(err)
	}
	out := make([]Thread, 0, len(tids))
	for _, tid := range tids {
		if st, err := procfs.ReadThreadStat(p.pid, tid); err == nil {
			out = append(out, Thread{TID: tid, Comm: raw.CleanName(string(st.Name)), State: st.State})
		}
	}
	return out, p.alive()
}

// Info is what is worth knowing about a process before touching it.
type Info struct {
	UID, GID int    // effective
	Comm     string // cleaned of control characters
	State    byte   // of the leader
	Threads  int    // without the kernel's workers
	Seccomp  int    // 0 none, 1 strict, 2 filter
	Tracer   int    // thread id of the tracer, 0 if none
	InnerPID int    // the number by which it knows itself, in its own namespace; 0 if that is not known
}

// Info reads the current state of the target.
func (p *Process) Info() (Info, error) {
	release, err := p.use()
	if err != nil {
		return Info{}, err
	}
	defer release()
	st, err := procfs.ReadStat(p.pid)
	if err != nil {
		return Info{}, p.gone(err)
	}
	s, err := raw.ReadStatus(p.pid, 0)
	if err != nil {
		return Info{}, p.gone(err)
	}
	threads, err := raw.Threads(p.pid)
	if err != nil {
		return Info{}, p.gone(err)
	}
	return Info{UID: s.UIDs[1], GID: s.GIDs[1], Comm: raw.CleanName(string(st.Name)), State: st.State, Threads: len(threads), Seccomp: s.Seccomp, Tracer: s.Tracer, InnerPID: s.Inner}, p.alive()
}

// Syscall tells what a thread of the target waits in. It needs the right to trace the target.
func (p *Process) Syscall(tid int) (raw.Blocked, error) {
	release, err := p.use()
	if err != nil {
		return raw.Blocked{}, err
	}
	defer release()
	out, err := raw.BlockedIn(p.pid, tid)
	if err != nil {
		return raw.Blocked{}, p.gone(err)
	}
	return out, p.alive()
}

// Filtered reports whether system calls of the target's threads pass a filter, or are forbidden but a few (seccomp(2)). It looks at
// the first thread and at most others more: a filter may be that of one thread alone.
func (p *Process) Filtered(others int) (bool, error) {
	release, err := p.use()
	if err != nil {
		return false, err
	}
	defer release()
	s, err := raw.ReadStatus(p.pid, 0)
	if err != nil {
		return false, p.gone(err)
	}
	if s.Seccomp != 0 {
		return true, p.alive()
	}
	tids, err := raw.Threads(p.pid)
	if err != nil {
		return false, p.gone(err)
	}
	for i, k := range rand.Perm(len(tids)) {
		if i == others {
			break
		}
		if s, err := raw.ReadStatus(p.pid, tids[k]); err == nil && s.Seccomp != 0 {
			return true, p.alive()
		}
	}
	return false, p.alive()
}

// What threads may have forbidden themselves: code of ours that they came to would be a signal for them, which ends most programs.

// Modes knows what the threads of a process have forbidden themselves, without stopping it.
type Modes interface {
	Of(pid int) (syscalls.Mode, error)
}

// KnowModes sets what knows of that. Without it threads are asked, which takes a call of each. It is called from any goroutine.
func (p *Process) KnowModes(m Modes) { p.modes.Store(&m) }

// Forbids says what some thread has forbidden itself that probes need, or that it has given up its thread pointer: an *Unsupported, nil if there is no such
// thread or nobody knows. It takes less than 100 us, and stops nobody. It is called from any goroutine.
func (p *Process) Forbids() error {
	mode, _ := p.mode()
	if mode.Keyless && p.checkExec() == nil { // another program has none when it begins
		return Keyless("a thread")
	}
	return Forbidden(mode)
}

// Keyless is why a program of which a thread has given up its thread pointer cannot have probes.
func Keyless(who string) error {
	return &raw.Unsupported{What: fmt.Sprintf("a program of which %s has given up its thread pointer", who), Needs: "a thread control block for each thread"}
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

// Driven is how often a thread was let go on in a stop to make a call for us, so far.
func (p *Process) Driven(tid int) int { return p.driven.Of(tid) }
