package process

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// A guard keeps us from a deadlock that the kernel leaves open. PTRACE_SEIZE waits for an exec that is under way in the target; the exec waits
// until all other threads of the target are gone; and a thread that we trace is gone only when we have collected it, which the
// tracer cannot do while it waits in PTRACE_SEIZE. Any thread of this process may collect it, however: while a pass of attaching takes long,
// the guard does, also for threads that were attached at their birth and that nobody here knows yet.
type guard struct {
	pid    int
	mu     sync.Mutex
	buried []int
	over   bool
	timer  *time.Timer
}

const guardDelay = 2 * time.Millisecond

func newGuard(pid int) *guard {
	g := &guard{pid: pid}
	g.timer = time.AfterFunc(guardDelay, g.watch)
	return g
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
	if !g.over {
		g.buried = append(g.buried, collect(g.pid)...)
	}
	return !g.over
}

// collect takes the ends of all traced threads of a process, and says whose. The leader is left alone: an exec takes its place without us,
// and its end may belong to somebody else. It may be called on any thread.
func collect(pid int) (collected []int) {
	tids, _ := raw.Tasks(pid)
	for _, tid := range tids {
		if tid == pid {
			continue
		}
		// Looking first: a plain wait for the end would also take a stop of the thread, which is not ours to take.
		if result, _ := raw.WaitID(tid, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG|unix.WALL); result == raw.WaitEnded {
			_, _ = raw.WaitID(tid, unix.WEXITED|unix.WNOHANG|unix.WALL)
			collected = append(collected, tid)
		}
	}
	return collected
}

// end stops the guard and gives the threads it has collected.
func (g *guard) end() []int {
	g.timer.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	return g.buried
}
