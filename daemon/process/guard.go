package process

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A guard keeps us from a deadlock that the kernel leaves open. PTRACE_SEIZE waits for an exec that is under way in the target; the exec waits
// until all other threads of the target are gone; and a thread that we trace is gone only when we have collected it, which the
// tracer cannot do while it waits in PTRACE_SEIZE. Any thread of this process may collect it, however: while a pass of attaching takes long,
// the guard does.
type guard struct {
	mu     sync.Mutex
	traced []int // threads whose end is ours to collect
	buried []int
	over   bool
	timer  *time.Timer
}

const guardDelay = 2 * time.Millisecond

func newGuard() *guard {
	g := &guard{}
	g.timer = time.AfterFunc(guardDelay, g.watch)
	return g
}

func (g *guard) add(tid int) {
	g.mu.Lock()
	g.traced = append(g.traced, tid)
	g.mu.Unlock()
}

func (g *guard) watch() {
	for g.look() {
		time.Sleep(time.Millisecond)
	}
}

// look collects what has ended and says whether to go on.
func (g *guard) look() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return false
	}
	rest := g.traced[:0]
	for _, tid := range g.traced {
		// Looking first: a plain wait for the end would also take a stop of the thread, which is not ours to take.
		if result, _ := waitID(tid, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG|unix.WALL); result == waitGone {
			_, _ = waitID(tid, unix.WEXITED|unix.WNOHANG|unix.WALL)
			g.buried = append(g.buried, tid)
		} else {
			rest = append(rest, tid)
		}
	}
	g.traced = rest
	return true
}

// end stops the guard and gives the threads it has collected.
func (g *guard) end() []int {
	g.timer.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	return g.buried
}
