package process

import (
	"context"
	"maps"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/resume"
)

// What Calls does for a Process.

// takeFD takes over a descriptor of the target.
func (p *Process) takeFD(fd int) (own int, err error) { return unix.PidfdGetfd(p.pidfd, fd, 0) }

// KnowDeadlines sets what knows when waits would have ended. Without it they count from the first stop. It is called from any goroutine.
func (p *Process) KnowDeadlines(d resume.Deadlines) { p.calls.KnowDeadlines(d) }

// ProveSpent sets what proves of a syscall instruction that ends at ret that register r10 is of no use to anybody behind it, so that the
// fourth argument of the call may be changed there; false for code that may go away, since the answer is kept. prove is called behind stops,
// by the goroutine that called Stop.
func (p *Process) ProveSpent(prove func(ret raw.Addr) bool) { p.calls.ProveSpent(prove) }

// forgetWaits drops what is known of threads that have ended.
func (s *session) forgetWaits() {
	if !s.complete {
		return
	}
	ended := func(tid int) bool { return s.threads[tid] == nil }
	s.p.calls.Forget(ended)
	maps.DeleteFunc(s.p.computed, func(tid int, _ time.Duration) bool { return ended(tid) })
}

// endingsLimit is how long is waited for one thread to stop. It sleeps in a call that can be broken off.
const endingsLimit = 100 * time.Millisecond

// endWaits stops the threads whose waits are over, and only them. Who is elsewhere by now goes on as he was.
func (t *tracer) endWaits() {
	s := &session{p: t.p, t: t, ctx: context.Background(), limit: endingsLimit, threads: map[int]*raw.Tracee{}, begin: time.Now(), keep: t.p.ownChild(), complete: true}
	t.begin()
	defer t.end()
	t.p.calls.Alone = true
	defer func() { t.p.calls.Alone = false }()
	defer t.p.calls.LookForDeadlines()()
	for _, tid := range t.p.calls.Over(raw.Monotonic()) {
		if t.lingering[tid] == nil { // else it is on its way to a stop
			_, _ = s.seize(tid) // one that has ended, or is traced by somebody else, does not wait for us
		}
	}
	s.interruptAll()
	for round := 0; s.expired() == nil; round++ {
		pending, n := s.pollAll(round)
		if pending == nil {
			break
		}
		for _, tr := range s.threads { // nobody waits for the others
			if tr.Phase == raw.AtStop {
				raw.Detach(tr, 0)
			}
		}
		raw.Backoff(round, n)
	}
	s.release()
}

// lastEndingsFor is for how long waits are still ended when the process is closed; those that are over later last longer than they should.
const lastEndingsFor = 500 * time.Millisecond

// lastEndings ends the waits that are over soon.
func (t *tracer) lastEndings() {
	last := raw.Monotonic() + lastEndingsFor
	for at, ok := t.p.calls.NextEnding(); ok && at <= last; at, ok = t.p.calls.NextEnding() {
		raw.Nap(max(at-raw.Monotonic(), 0))
		t.endWaits()
	}
}
