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

// idling adds up the time of threads, and where those were that had nothing to do. Some threads are looked at more often than others, and those of
// a process with few more often than those of one with many: a look stands for the time since the last one at the same thread.
type idling struct {
	looked, idle float64         // seconds, over threads
	last         map[int]float64 // session times of the last looks, by thread
	began        float64         // session time of the first look at any
	places       map[idlePlace]*idleThere
	at           float64 // session time of the last stack
}

// An idlePlace is the function in which a thread has nothing to do, and who ends that, and where, if a thread of the program does.
type idlePlace struct {
	function, waker, wakesIn string
	child                    bool // it waits for a child process: no waker is told, since each child that ends would be one of its own
}

type idleThere struct {
	seen    float64 // seconds for which looks stood at which the stack was read
	threads map[int]bool
}

// mostIdlePlaces, mostIdleThreads and mostLastLooks bound what is remembered, longestSpan what one look stands for, in seconds.
const (
	mostIdlePlaces  = 256
	mostIdleThreads = 4096
	mostLastLooks   = 1 << 16
	longestSpan     = 60.0
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
	born := now
	if r, ok := p.t.Threads.Get(tid); ok {
		born -= kernel.Age(r.Times.Start)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	span := p.idling.look(tid, isIdle, now, born)
	if due {
		p.idling.note(at, tid, span)
	}
}

// look adds the time for which a look at a thread stands, in seconds, and returns it. born is when the thread began. c.mu is held.
func (i *idling) look(tid int, isIdle bool, now, born float64) (span float64) {
	if i.last == nil || len(i.last) > mostLastLooks { // most of them have ended
		i.last, i.began = map[int]float64{}, now
	}
	since, known := i.last[tid]
	if !known {
		since = max(born, i.began)
	}
	i.last[tid] = now
	span = min(max(now-since, 0), longestSpan)
	i.looked += span
	if isIdle {
		i.idle += span
	}
	return span
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

// note adds the time of a thread at a place. c.mu is held.
func (i *idling) note(at idlePlace, tid int, span float64) {
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
	there.seen += span
	if len(there.threads) < mostIdleThreads {
		there.threads[tid] = true
	}
}

// fade lets the sums fade by a second. c.mu is held.
func (i *idling) fade() {
	i.looked *= fade
	i.idle *= fade
	for at, there := range i.places {
		if there.seen *= fade; there.seen < 0.01 {
			delete(i.places, at)
		}
	}
}

// An IdleTally puts together where the threads of several processes had nothing to do.
type IdleTally struct {
	looked, idle float64 // seconds, over threads
	places       map[idlePlace]grid.IdlePlace
}

// Add adds what was seen within the last seconds.
func (s *IdleTally) Add(c *Counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.places == nil {
		s.places = map[idlePlace]grid.IdlePlace{}
	}
	s.looked += c.idling.looked
	s.idle += c.idling.idle
	seen := 0.0
	for _, there := range c.idling.places {
		seen += there.seen
	}
	for at, there := range c.idling.places {
		one := s.places[at]
		one.Function, one.Waker, one.WakesIn, one.Child = at.function, at.waker, at.wakesIn, at.child
		one.Threads += len(there.threads)
		if seen > 0 { // of each process about as many stacks are read, however many threads it has
			one.Share += c.idling.idle * there.seen / seen
		}
		s.places[at] = one
	}
}

// Idle is what was added, the places in no order.
func (s *IdleTally) Idle() (all grid.Idle) {
	if s.looked == 0 || len(s.places) == 0 {
		return all
	}
	all.Share = s.idle / s.looked
	for _, one := range s.places {
		one.Share /= s.looked
		all.Places = append(all.Places, one)
	}
	return all
}
