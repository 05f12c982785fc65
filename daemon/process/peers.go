package process

import (
	"os"
	"slices"
	"strings"
	"time"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/resume"
	"culprit/internal/procfs"
)

// Peers are processes that run on the memory of the target without being threads of it: made by clone(2) with CLONE_VM and without
// CLONE_THREAD. They run the target's text, so they stand still with it. A child of vfork is none: its parent waits for it in the kernel, and
// while it does the target does not come to stand.

// lastPID is the number that a process or thread got last; where it has not changed none has come.
func lastPID() string {
	b, _ := os.ReadFile("/proc/loadavg")
	return string(b[strings.LastIndexByte(string(b), ' ')+1:])
}

// stopPeers stops all peers of a target that stands still. Nobody is attached to earlier: until then children of vfork share the memory too,
// and what they execute may have rights that a traced process does not get.
func (s *session) stopPeers() error {
	for {
		fresh := s.freshPeers()
		if len(fresh) == 0 {
			return nil
		}
		for _, pid := range fresh {
			if err := s.stopPeer(pid); err != nil && raw.SameMemory(s.p.pid, pid) {
				return err // else it has ended or executed a program, and is none any more
			}
			if err := s.expired(); err != nil {
				return err
			}
		}
	}
}

func (s *session) freshPeers() []int {
	return slices.DeleteFunc(raw.PeersOf(s.p.pid), func(pid int) bool {
		return slices.ContainsFunc(s.peers, func(one *session) bool { return one.p.pid == pid })
	})
}

func (s *session) stopPeer(pid int) error {
	if tr := s.threads[pid]; tr != nil && tr.Phase == raw.Running { // born just now, and attached to us at its birth
		if s.poll(tr); tr.Phase == raw.Running {
			return raw.Late(pid, pid, time.Since(s.begin), false)
		}
	}
	st, err := procfs.ReadStat(pid)
	if err != nil {
		return err
	}
	q := &Process{pid: pid, start: st.Start, pidfd: -1, mem: raw.File{FD: -1}, exec: s.p.exec, computed: map[int]time.Duration{}}
	q.calls = resume.New(pid, &q.mem, q.takeFD)
	one := &session{p: q, t: s.t, ctx: s.ctx, limit: s.limit, threads: map[int]*raw.Tracee{}, begin: s.begin, looked: time.Now(), keep: q.ownChild()}
	s.peers = append(s.peers, one)
	if err := q.openPidfd(); err != nil {
		return err
	}
	if err := one.attachAll(); err != nil {
		return err
	}
	one.interruptAll()
	if err := one.waitAll(); err != nil {
		return err
	}
	if one.complete = raw.SameMemory(s.p.pid, pid); !one.complete {
		one.release()
	}
	return nil
}

// releasePeers lets all peers go.
func (s *session) releasePeers() {
	for _, one := range s.peers {
		one.release()
		one.p.closeHandles()
	}
}

// Peers is how many other processes run on the target's memory, without being threads of it. They stand still as well, and
// their threads are among those of the World.
func (w *World) Peers() (n int) {
	for _, one := range w.s.peers {
		if one.complete {
			n++
		}
	}
	return n
}
