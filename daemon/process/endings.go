package process

import (
	"context"
	"time"
)

// A wait whose rest cannot be told the kernel goes on with its whole timeout, until its time is over: then its thread alone is stopped once more
// and gets the result that says so.

// endingsLimit is how long is waited for one thread to stop. It sleeps in a call that can be broken off.
const endingsLimit = 100 * time.Millisecond

// endsAt notes when a wait that goes on too long is to be ended, on the monotonic clock.
func (p *Process) endsAt(tid int, end time.Duration) { p.endings[tid] = end }

// forgetEnding is for a thread that has stopped, unless it had no time to make the call again from which the last stop took it.
func (p *Process) forgetEnding(tr *tracee) {
	if _, again := tagged(tr.regs.Rax); !again {
		delete(p.endings, tr.tid)
	}
}

// nextEnding is when the next wait is to be ended.
func (p *Process) nextEnding() (at time.Duration, ok bool) {
	for _, end := range p.endings {
		if !ok || end < at {
			at, ok = end, true
		}
	}
	return at, ok
}

// endWaits stops the threads whose waits are over, and only them. Who is elsewhere by now goes on as he was.
func (t *tracer) endWaits() {
	now := monotonic()
	s := &session{p: t.p, t: t, ctx: context.Background(), limit: endingsLimit, threads: map[int]*tracee{}, begin: time.Now(), keep: t.p.ownChild(), complete: true}
	t.begin()
	defer t.end()
	defer t.p.lookForDeadlines()()
	for tid, end := range t.p.endings {
		if end > now {
			continue
		}
		t.p.endings[tid] = now + endingsLimit // should it not stop now, or have no time to make its call again
		if t.lingering[tid] == nil {
			if ok, _ := s.seize(tid); !ok { // it has ended, or somebody else traces it
				delete(t.p.endings, tid)
			}
		}
	}
	s.interruptAll()
	for round := 0; s.expired() == nil; round++ {
		pending, n := s.pollAll(round)
		if pending == nil {
			break
		}
		backoff(round, n)
	}
	s.release()
}

// lastEndingsFor is for how long waits are still ended when the process is closed; those that are over later last longer than they should.
const lastEndingsFor = 500 * time.Millisecond

// lastEndings ends the waits that are over soon.
func (t *tracer) lastEndings() {
	last := monotonic() + lastEndingsFor
	for at, ok := t.p.nextEnding(); ok && at <= last; at, ok = t.p.nextEnding() {
		nap(max(at-monotonic(), 0))
		t.endWaits()
	}
}
