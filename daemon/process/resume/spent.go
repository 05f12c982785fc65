package resume

import (
	"sync"

	"culprit/daemon/process/raw"
)

// spentPlaces is what is proven of the code behind system calls. To prove it may take reading a file, which is not done while the target stands still: a place
// that is asked for in a stop is looked at behind it, and known in the next one.
type spentPlaces struct {
	first sync.Once
	prove func(ret raw.Addr) bool // set once, before the first stop; nil proves nothing
	mu    sync.Mutex
	known map[raw.Addr]bool
	asked []raw.Addr
}

// LookFirst asks about the places where threads wait before the first stop.
func (c *Calls) LookFirst() {
	c.spent.first.Do(func() {
		tids, _ := raw.Tasks(c.pid) // without them the first stop asks
		for _, tid := range tids[:min(len(tids), mostSpentPlaces)] {
			if call, err := raw.BlockedIn(c.pid, tid); err == nil && call.NR >= 0 && inMilliseconds(uint64(call.NR)) {
				c.isSpent(call.PC)
			}
		}
		c.Learn()
	})
}

// mostSpentPlaces bounds what is kept: programs wait at some dozens of places, code that is compiled at run time at any number.
const mostSpentPlaces = 4096

// ProveSpent sets what proves of a syscall instruction that ends at ret that register r10 is of no use to anybody behind it, so that the
// fourth argument of the call may be changed there; false for code that may go away, since the answer is kept. prove is called behind stops,
// by the goroutine that called Stop.
func (c *Calls) ProveSpent(prove func(ret raw.Addr) bool) { c.spent.prove = prove }

// isSpent is for stops.
func (c *Calls) isSpent(ret raw.Addr) bool {
	s := &c.spent
	s.mu.Lock()
	defer s.mu.Unlock()
	spent, known := s.known[ret]
	if !known && s.prove != nil && len(s.known)+len(s.asked) < mostSpentPlaces {
		s.asked = append(s.asked, ret)
	}
	return spent
}

// Learn looks at what was asked for.
func (c *Calls) Learn() {
	s := &c.spent
	s.mu.Lock()
	asked := s.asked
	s.asked = nil
	s.mu.Unlock()
	for _, ret := range asked {
		spent := s.prove(ret)
		s.mu.Lock()
		if s.known == nil {
			s.known = map[raw.Addr]bool{}
		}
		s.known[ret] = spent
		s.mu.Unlock()
	}
}
