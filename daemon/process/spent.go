package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// spentPlaces is what is proven of the code behind system calls. To prove it may take reading a file, which is not done while the target stands still: a place
// that is asked for in a stop is looked at behind it, and known in the next one.
type spentPlaces struct {
	first sync.Once
	prove func(ret Addr) bool // set once, before the first stop; nil proves nothing
	mu    sync.Mutex
	known map[Addr]bool
	asked []Addr
}

// lookFirst asks about the places where threads wait before the first stop.
func (p *Process) lookFirst() {
	p.spent.first.Do(func() {
		tids, _ := listTasks(p.pid) // without them the first stop asks
		for _, tid := range tids[:min(len(tids), mostSpentPlaces)] {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", p.pid, tid))
			if nr, pc, ok := waitingIn(string(text)); ok && inMilliseconds(nr) {
				p.isSpent(pc)
			}
		}
		p.spent.learn()
	})
}

// waitingIn reads the call that a thread waits in, from /proc/PID/task/TID/syscall: its number, six arguments, the stack pointer and where it goes on.
func waitingIn(text string) (nr uint64, pc Addr, ok bool) {
	f := strings.Fields(text)
	if len(f) != 9 {
		return 0, 0, false
	}
	nr, err1 := strconv.ParseUint(f[0], 10, 32)
	at, err2 := strconv.ParseUint(f[8], 0, 64)
	return nr, Addr(at), err1 == nil && err2 == nil
}

// mostSpentPlaces bounds what is kept: programs wait at some dozens of places, code that is compiled at run time at any number.
const mostSpentPlaces = 4096

// ProveSpent sets what proves of a syscall instruction that ends at ret that register r10 is of no use to anybody behind it, so that the
// fourth argument of the call may be changed there; false for code that may go away, since the answer is kept. prove is called behind stops,
// by the goroutine that called Stop.
func (p *Process) ProveSpent(prove func(ret Addr) bool) { p.spent.prove = prove }

// isSpent is for stops.
func (p *Process) isSpent(ret Addr) bool {
	s := &p.spent
	s.mu.Lock()
	defer s.mu.Unlock()
	spent, known := s.known[ret]
	if !known && s.prove != nil && len(s.known)+len(s.asked) < mostSpentPlaces {
		s.asked = append(s.asked, ret)
	}
	return spent
}

// learn looks at what was asked for.
func (s *spentPlaces) learn() {
	s.mu.Lock()
	asked := s.asked
	s.asked = nil
	s.mu.Unlock()
	for _, ret := range asked {
		spent := s.prove(ret)
		s.mu.Lock()
		if s.known == nil {
			s.known = map[Addr]bool{}
		}
		s.known[ret] = spent
		s.mu.Unlock()
	}
}
