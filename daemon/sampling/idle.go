package sampling

import (
	"math/rand/v2"

	"culprit/daemon/kernel"
	"culprit/daemon/stack"
	"culprit/daemon/threads"
	"culprit/grid"
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
	threads      map[int]*idleThread
	at           float64 // session time of the last stack
}

// An idlePlace is the function in which a thread has nothing to do, and who ends that, and where, if a thread of the program does.
type idlePlace struct {
	function, waker, wakesIn string
	waitsFor                 grid.IdleFor // of a child process no waker is told, since each child that ends would be one of its own
}

// An idleThread is a thread that has nothing to do at times.
type idleThread struct {
	idle   float64               // seconds
	places map[idlePlace]float64 // seconds for which looks stood at which the stack was read
}

// mostIdlePlaces, of one thread, mostIdleThreads and mostLastLooks bound what is remembered, longestSpan what one look stands for, in seconds.
const (
	mostIdlePlaces  = 16
	mostIdleThreads = 4096
	mostLastLooks   = 1 << 16
	longestSpan     = 60.0
)

// noteIdle counts a look at a thread, at a session time.
func (p *Profile) noteIdle(tid int, call kernel.BlockedCall, state threads.State, now float64) {
	isIdle := state == threads.Idle
	// Threads are looked at in turn: those first that nobody knows of where they are, then one by chance, since the first that is due may always
	// be the same.
	due := isIdle && now-p.idling.at >= idleEvery && (!p.knowsIdle(tid) || rand.IntN(max(p.t.Threads.Count(), 1)) == 0)
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
		if th := i.thread(tid); th != nil {
			th.idle += span
		}
	}
	return span
}

// thread is what is remembered of a thread; nil if there are too many. c.mu is held.
func (i *idling) thread(tid int) *idleThread {
	th := i.threads[tid]
	if th == nil && len(i.threads) < mostIdleThreads {
		if i.threads == nil {
			i.threads = map[int]*idleThread{}
		}
		th = &idleThread{places: map[idlePlace]float64{}}
		i.threads[tid] = th
	}
	return th
}

// knowsIdle reports whether the stack of a thread was read while it had nothing to do; that of one too many is taken for known.
func (c *Counts) knowsIdle(tid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	th := c.idling.thread(tid)
	return th == nil || len(th.places) > 0
}

func (p *Profile) idleAt(tid int, call kernel.BlockedCall, now float64) (at idlePlace) {
	at.function = p.functionName(stack.OwnFunction(p.framesOf(p.blocked(tid, call))))
	at.waitsFor = threads.IdleFor(call)
	if p.wakers == nil || at.waitsFor == grid.ForChild {
		return at
	}
	if by := p.wakers(tid, call, now); len(by) > 0 && !by[0].Outside && by[0].Thread != Kernel {
		at.waker, at.wakesIn = by[0].Thread, by[0].Function
	}
	return at
}

// note adds the time of a thread at a place. c.mu is held.
func (i *idling) note(at idlePlace, tid int, span float64) {
	th := i.thread(tid)
	if th == nil {
		return
	}
	if _, known := th.places[at]; known || len(th.places) < mostIdlePlaces {
		th.places[at] += span
	}
}

// fade lets the sums fade by a second. c.mu is held.
func (i *idling) fade() {
	i.looked *= fade
	i.idle *= fade
	for tid, th := range i.threads {
		if th.idle *= fade; th.idle < 0.001 {
			delete(i.threads, tid)
		}
		for at := range th.places {
			if th.places[at] *= fade; th.places[at] < 0.001 && len(th.places) > 1 {
				delete(th.places, at)
			}
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
	known := 0.0
	for _, th := range c.idling.threads {
		if len(th.places) > 0 {
			known += th.idle
		}
	}
	for _, th := range c.idling.threads {
		if known > 0 {
			s.addThread(th, c.idling.idle/known) // of the others it is taken that they are where those are
		}
	}
}

// addThread adds the time of a thread to the places where it was, which stands for more.
func (s *IdleTally) addThread(th *idleThread, more float64) {
	seen := 0.0
	for _, span := range th.places {
		seen += span
	}
	for at, span := range th.places {
		share := 1 / float64(len(th.places)) // where looks stand for no time yet
		if seen > 0 {
			share = span / seen
		}
		one := s.places[at]
		one.Function, one.Waker, one.WakesIn, one.For = at.function, at.waker, at.wakesIn, at.waitsFor
		one.Threads++
		one.Share += more * th.idle * share
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
