package process

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/internal/procfs"
)

// A tracer is the goroutine that owns ptrace for one target. It is locked to its OS thread and never unlocks: when the goroutine returns,
// the runtime ends the thread, and the kernel then releases whatever was still traced.
type tracer struct {
	jobs chan func()
	quit chan struct{} // closed by shutdown
	dead chan struct{} // closed when the goroutine has returned
	tid  int

	// lingering are threads that could not be released yet: in uninterruptible sleep, dying, or left in their calls.
	lingering map[int]*raw.Tracee
	holds     bool // what the process's Holder was told last
	hurries   bool // for a stop that is not over
	p         *Process
}

// startTracer gives the tracer of the process, made if there is none.
func (p *Process) startTracer() (*tracer, error) {
	p.tracerMu.Lock()
	defer p.tracerMu.Unlock()
	if _, err := p.useBriefly(); err != nil {
		return nil, err
	}
	if t := p.tracer; t != nil {
		select {
		case <-t.dead:
			t.awaitEnd()
		default:
			return t, nil
		}
	}
	t := &tracer{jobs: make(chan func()), quit: make(chan struct{}), dead: make(chan struct{}), lingering: map[int]*raw.Tracee{}, p: p}
	onOwnThread(t.run)
	p.tracer = t
	return t, nil
}

// letGo tells the Holder that nobody is held any more, when the end of the thread has let go of all.
func (t *tracer) letGo() {
	t.awaitEnd()
	t.end()
}

// awaitEnd comes when the thread that the goroutine was locked to has ended as well: until then it still traces. It gives up after a second.
func (t *tracer) awaitEnd() {
	for began := time.Now(); isOurThread(t.tid) && time.Since(began) < time.Second; {
		raw.Nap(50 * time.Microsecond)
	}
}

func (p *Process) useBriefly() (bool, error) {
	release, err := p.use()
	if err != nil {
		return false, err
	}
	release()
	return true, nil
}

// onOwnThread runs f on an OS thread that ends with it. The main thread cannot be ended by the runtime, so it is only held while another is taken.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			f()
			return
		}
		started := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(started)
			f()
		}()
		<-started
		runtime.UnlockOSThread()
	}()
}

// For so long threads are still let go when the process is closed. Those that sleep on, uninterruptibly or frozen, notice nothing; those that only wait for
// a CPU, on a machine with too much to do, would.
const (
	lastStopsFor     = 500 * time.Millisecond
	lastRunnablesFor = 10 * time.Second
)

func (t *tracer) run() {
	defer t.succeed()
	defer close(t.dead)
	defer func() {
		clear(t.lingering)
		if t.holds {
			go t.letGo()
		}
	}()
	t.tid = unix.Gettid()
	// While this thread waits for a CPU the target stands still. Without the right to do so it stays as it is.
	_ = unix.Setpriority(unix.PRIO_PROCESS, t.tid, -15)
	var wait time.Duration
	for {
		var tick, ending <-chan time.Time
		if len(t.lingering) > 0 {
			wait = min(max(2*wait, time.Millisecond), 20*time.Millisecond)
			tick = time.After(wait)
		}
		if at, ok := t.p.calls.NextEnding(); ok {
			ending = time.After(at - raw.Monotonic())
		}
		select {
		case job := <-t.jobs:
			job()
			wait = 0
		case <-t.quit:
			t.lastEndings()
			t.lastStops()
			return
		case <-tick:
		case <-ending:
			t.endWaits()
		}
		t.settle()
		t.end()
		if t.onlyZombies() || t.onlySleepers() {
			return // ends the thread, which is the one way to let go of a zombie leader, and of who was left in a call
		}
		t.calm()
	}
}

// lastStops lets go of threads that are on their way to a stop. One that is left there when this thread ends goes on with what the kernel makes of its
// call, which is a call that a filter may answer with death.
func (t *tracer) lastStops() {
	for began := time.Now(); len(t.lingering) > 0 && !t.onlyZombies() && !t.onlyLeft(); raw.Nap(time.Millisecond) {
		waited := time.Since(began)
		late := waited > lastRunnablesFor || waited > lastStopsFor && !t.someRunnable()
		t.settle() // also when it is late: one that was runnable may have stopped since
		if late {
			return
		}
	}
}

// someRunnable says whether one of the threads that were asked to stop has not had a CPU for it yet.
func (t *tracer) someRunnable() bool {
	for tid, tr := range t.lingering {
		if !tr.Sleeps && raw.ThreadState(t.p.pid, tid) == 'R' {
			return true
		}
	}
	return false
}

// succeed has another tracer end the waits that go on too long, should this one end before.
func (t *tracer) succeed() {
	if _, ok := t.p.calls.NextEnding(); ok {
		go t.p.startTracer() // it waits for the end of this thread; a process that is closed gets none
	}
}

// do runs f on the tracer's thread and waits for it.
func (t *tracer) do(f func()) error {
	finished := make(chan struct{})
	job := func() { defer close(finished); f() }
	select {
	case t.jobs <- job:
	case <-t.quit:
		return ErrClosed
	case <-t.dead:
		return errTracerDead
	}
	<-finished
	return nil
}

var errTracerDead = fmt.Errorf("tracer thread has ended")

func (t *tracer) shutdown() {
	close(t.quit)
	<-t.dead
}

// settle looks after the threads that could not be released by the last Stop.
func (t *tracer) settle() {
	if len(t.lingering) > 0 {
		_ = collect(t.p.pid)
	}
	for tid, tr := range t.lingering {
		result, status := raw.WaitThread(tid, t.p.keeps(tid))
		switch result {
		case raw.WaitEnded, raw.WaitNotOurs:
			delete(t.lingering, tid)
		case raw.WaitStopped:
			tr.Sleeps = false
			if t.settleStop(tr, status) {
				delete(t.lingering, tid)
			}
		case raw.WaitNothing:
			if tr.Keep && t.leftUs(tid) {
				delete(t.lingering, tid)
			}
		}
	}
}

// leftUs says whether a thread is traced by nobody, or by somebody else.
func (t *tracer) leftUs(tid int) bool {
	st, err := raw.ReadStatus(t.p.pid, tid)
	return err == nil && st.Tracer != t.tid
}

// lost says whether nothing more will be heard of a thread: a leader that has ended before its threads is reported by no wait; and a thread that
// was not traced may have taken the leader's place by an exec, which no wait reports if the target is a child of ours.
func (t *tracer) lost(tr *raw.Tracee) bool {
	st, err := raw.ReadStatus(t.p.pid, tr.TID)
	return err != nil || isDead(st.State) || st.Tracer != t.tid
}

// onlyZombies says whether all that lingers has ended but cannot be collected (a leader that ended before its threads).
func (t *tracer) onlyZombies() bool {
	if len(t.lingering) == 0 {
		return false
	}
	for tid := range t.lingering {
		if s := raw.ThreadState(t.p.pid, tid); s != 'Z' && s != 'X' {
			return false
		}
	}
	return true
}

// onlyLeft says whether all that lingers are threads that were left in their calls. Those that come back meanwhile stop at their next signal at the
// latest, and are released then.
func (t *tracer) onlyLeft() bool {
	for _, tr := range t.lingering {
		if !tr.Sleeps {
			return false
		}
	}
	return len(t.lingering) > 0
}

// onlySleepers says whether all that lingers sleeps in the calls that it was left in. It waits some milliseconds for those that were just woken.
func (t *tracer) onlySleepers() bool {
	const rounds = 20
	for round := 0; round < rounds && t.onlyLeft(); round++ {
		if !t.someWoken() {
			return true
		}
		raw.Backoff(round, 1)
		t.settle()
	}
	return false
}

// someWoken says whether a thread that was left in its call has got a signal: the thread is on its way to a stop, where its call is put right. A signal that
// nobody handles breaks into calls as well as long as the thread is traced.
func (t *tracer) someWoken() bool {
	asleep := t.p.asleep()
	for tid := range t.lingering {
		if is, sleeps := asleep[tid]; sleeps && !is.Woken {
			continue
		}
		if st, err := raw.ReadStatus(t.p.pid, tid); err == nil && st.Pending != 0 {
			return true
		}
	}
	return false
}

// keeps says whether the end of this thread belongs to somebody else in this process: the target is our child, and this is its leader.
func (p *Process) keeps(tid int) bool { return tid == p.pid && p.ownChild() }

// ownChild is asked afresh because a target can be adopted when its parent ends.
func (p *Process) ownChild() bool {
	st, err := procfs.ReadStat(p.pid)
	return err == nil && st.Parent == os.Getpid()
}

// trySeize asks the kernel whether the process may be traced, by doing it on a thread that then ends. The target notices nothing.
func trySeize(pid int) error {
	result := make(chan error)
	var tid int
	onOwnThread(func() {
		tid = unix.Gettid()
		result <- raw.Seize(pid, 0)
	})
	err := <-result
	if err != nil {
		return err
	}
	// The thread ends a moment after its goroutine; until then the target would seem to be traced.
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Microsecond) {
		if s, err := raw.ReadStatus(pid, 0); err != nil || s.Tracer != tid {
			return nil
		}
	}
	return fmt.Errorf("the test attachment was not released")
}
