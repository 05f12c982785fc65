package sampling

import (
	"math/rand/v2"
	"strings"

	"culprit/daemon/kernel"
	"culprit/daemon/libc"
	"culprit/daemon/stack"
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/pcl"
)

// Where threads have nothing to do: an answer that finds nothing says what the program did instead.

// idleEvery is how often the stack of a thread with nothing to do is read, all threads of a target together, in seconds.
const idleEvery = 0.25

// idling counts looks at threads, and where those were that had nothing to do.
type idling struct {
	looks, idle float64
	places      map[idlePlace]*idleThere
	at          float64 // session time of the last stack
}

// An idlePlace is the function in which a thread has nothing to do, and who ends that, and where, if a thread of the program does.
type idlePlace struct {
	function, waker, wakesIn string
	child                    bool // it waits for a child process: no waker is told, since each child that ends would be one of its own
}

type idleThere struct {
	seen    float64
	threads map[int]bool
}

// mostIdlePlaces and mostIdleThreads bound what is remembered.
const (
	mostIdlePlaces  = 256
	mostIdleThreads = 4096
)

// noteIdle counts a look at a thread, at a session time.
func (p *Profile) noteIdle(tid int, call kernel.BlockedCall, state threads.State, now float64) {
	isIdle := state == threads.Idle
	// Threads are looked at in turn: one of them by chance, since the first that is due may always be the same.
	due := isIdle && now-p.idling.at >= idleEvery && rand.IntN(max(p.t.Threads.Count(), 1)) == 0
	var at idlePlace
	if due {
		p.idling.at = now
		at = p.idleAt(tid, call, now)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idling.looks++
	if isIdle {
		p.idling.idle++
	}
	if due {
		p.idling.note(at, tid)
	}
}

func (p *Profile) idleAt(tid int, call kernel.BlockedCall, now float64) (at idlePlace) {
	at.function = p.functionName(ownFunction(p.framesOf(p.blocked(tid, call))))
	at.child = threads.WaitsForChild(call)
	if p.wakers == nil || at.child {
		return at
	}
	if by := p.wakers(tid, call, now); len(by) > 0 && !by[0].Outside && by[0].Thread != Kernel {
		at.waker, at.wakesIn = by[0].Thread, by[0].Function
	}
	return at
}

// ownFunction is the innermost function of a stack that belongs neither to the C library nor to the C++ library; 0 if there is none.
func ownFunction(frames []stack.Frame) pcl.FuncID {
	for _, fr := range frames {
		if f := fr.Func; f != nil && !libc.IsC(f.Obj.Name) && !libc.IsCXX(f.Obj.Name) && !strings.HasPrefix(f.Fn.Name, "std::") {
			return f.ID
		}
	}
	return stack.OwnFunction(frames)
}

// note counts a thread at a place. c.mu is held.
func (i *idling) note(at idlePlace, tid int) {
	if i.places == nil {
		i.places = map[idlePlace]*idleThere{}
	}
	there := i.places[at]
	if there == nil {
		if len(i.places) >= mostIdlePlaces {
			return
		}
		there = &idleThere{threads: map[int]bool{}}
		i.places[at] = there
	}
	there.seen++
	if len(there.threads) < mostIdleThreads {
		there.threads[tid] = true
	}
}

// fade lets the counts fade by a second. c.mu is held.
func (i *idling) fade() {
	i.looks *= fade
	i.idle *= fade
	for at, there := range i.places {
		if there.seen *= fade; there.seen < 0.01 {
			delete(i.places, at)
		}
	}
}

// An IdleTally puts together where the threads of several processes had nothing to do.
type IdleTally struct {
	looks, idle, seen float64
	places            map[idlePlace]grid.IdlePlace
}

// Add adds what was seen within the last seconds.
func (s *IdleTally) Add(c *Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.places == nil {
		s.places = map[idlePlace]grid.IdlePlace{}
	}
	s.looks += c.idling.looks
	s.idle += c.idling.idle
	for at, there := range c.idling.places {
		one := s.places[at]
		one.Function, one.Waker, one.WakesIn, one.Child = at.function, at.waker, at.wakesIn, at.child
		one.Threads += len(there.threads)
		one.Share += there.seen
		s.places[at] = one
		s.seen += there.seen
	}
}

// Idle is what was added, the places in no order.
func (s *IdleTally) Idle() (all grid.Idle) {
	if s.looks == 0 || s.seen == 0 {
		return all
	}
	all.Share = s.idle / s.looks
	for _, one := range s.places {
		one.Share *= all.Share / s.seen
		all.Places = append(all.Places, one)
	}
	return all
}
