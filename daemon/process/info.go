package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"

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
	tids, err := listThreads(p.pid)
	if err != nil {
		return nil, p.gone(err)
	}
	out := make([]Thread, 0, len(tids))
	for _, tid := range tids {
		if st, err := procfs.ReadThreadStat(p.pid, tid); err == nil {
			out = append(out, Thread{TID: tid, Comm: clean(string(st.Name)), State: st.State})
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
	s, err := readStatus(p.pid, 0)
	if err != nil {
		return Info{}, p.gone(err)
	}
	threads, err := listThreads(p.pid)
	if err != nil {
		return Info{}, p.gone(err)
	}
	return Info{UID: s.uids[1], GID: s.gids[1], Comm: clean(string(st.Name)), State: st.State, Threads: len(threads), Seccomp: s.seccomp, Tracer: s.tracer, InnerPID: s.inner}, p.alive()
}

// Blocked tells what a thread is waiting in, read without disturbing it.
type Blocked struct {
	Running bool      // it is on a CPU or waits for one; the other fields are zero
	NR      int64     // number of the system call, -1 if it is blocked outside of one (a page fault)
	Args    [6]uint64 // zero if NR is -1
	SP, PC  Addr      // user stack pointer, and the address behind the syscall instruction
}

// Syscall tells what a thread of the target waits in. It needs the right to trace the target.
func (p *Process) Syscall(tid int) (Blocked, error) {
	release, err := p.use()
	if err != nil {
		return Blocked{}, err
	}
	defer release()
	out, err := blockedIn(p.pid, tid)
	if err != nil {
		return Blocked{}, p.gone(err)
	}
	return out, p.alive()
}

// blockedIn reads it from /proc.
func blockedIn(pid, tid int) (Blocked, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return Blocked{}, err
	}
	return parseBlocked(string(b))
}

func parseBlocked(s string) (Blocked, error) {
	f := strings.Fields(s)
	if len(f) == 1 && f[0] == "running" {
		return Blocked{Running: true}, nil
	}
	if len(f) != 3 && len(f) != 9 {
		return Blocked{}, fmt.Errorf("unreadable syscall line %q", s)
	}
	nr, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return Blocked{}, fmt.Errorf("unreadable syscall line %q", s)
	}
	v := make([]uint64, len(f)-1)
	for i := range v {
		if v[i], err = strconv.ParseUint(f[i+1], 0, 64); err != nil {
			return Blocked{}, fmt.Errorf("unreadable syscall line %q", s)
		}
	}
	b := Blocked{NR: nr, SP: Addr(v[len(v)-2]), PC: Addr(v[len(v)-1])}
	if len(v) == 8 {
		copy(b.Args[:], v)
	}
	return b, nil
}
