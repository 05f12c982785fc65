package process

import (
	"slices"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/resume"
)

// The order in which threads are attached and let go.
//
// The kernel drops a signal that nobody handles where it is sent, but not if the thread that it is sent to is traced: that is the leader, for signals
// to the process, and whoever has forked, for SIGCHLD. Then it wakes some thread of the process for it, and that one's epoll_wait, or another of the
// calls that are not restarted, ends with EINTR. If it is traced and asked to stop that is put right; if not, the program sees it. So those two are
// attached when all that can be hurt are asked to stop already, and let go before them.

// A turn is when a thread is attached; it is let go the other way round.
type turn int

const (
	inRewindable turn = iota // its call may end with EINTR
	leader
	elsewhere // may have forked
	parent    // waits for children, and so has some
	turns
)

func (s *session) turnOf(tid int, call int64) turn {
	switch {
	case call == unix.SYS_WAIT4 || call == unix.SYS_WAITID:
		return parent
	case tid == s.p.pid:
		return leader
	case call >= 0 && resume.Rewindable[uint64(call)]:
		return inRewindable
	}
	return elsewhere
}

// inOrder sorts threads by their turns, as far as it is known what they are in.
func (s *session) inOrder(tids []int) []int {
	var byTurn [turns][]int
	for _, tid := range tids {
		call, known := s.calls[tid]
		if !known {
			call = -1
		}
		at := s.turnOf(tid, call)
		byTurn[at] = append(byTurn[at], tid)
	}
	return slices.Concat(byTurn[:]...)
}

// outOfOrder are the threads that have stopped, in the order in which they are let go.
func (s *session) outOfOrder() []*raw.Tracee {
	var byTurn [turns][]*raw.Tracee
	for _, tr := range s.threads {
		if tr.Phase != raw.AtStop {
			continue
		}
		call := int64(-1)
		if int64(tr.Regs.Orig_rax) >= 0 {
			call = int64(uint32(tr.Regs.Orig_rax))
		}
		at := turns - 1 - s.turnOf(tr.TID, call)
		byTurn[at] = append(byTurn[at], tr)
	}
	return slices.Concat(byTurn[:]...)
}
