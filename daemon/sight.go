package daemon

import (
	"culprit/daemon/kernel"
	"culprit/daemon/stack"
	"culprit/daemon/threads"
	"culprit/daemon/waits"
)

// Looks at blocked threads of a target that is only looked at.

// A sight is the last sample of a thread that was blocked. As long as the thread does not run, it says what the thread does without
// another look. In a program of hundreds of threads, of which each is looked at rarely, it also stands for what the thread does until
// the next look.
type sight struct {
	x      *stackSample // nil before the first
	hits   hits         // of this sample alone
	slices uint64       // how often the thread had been put on a processor
	at     float64      // session time
	spent  float64      // s that it stood for although the thread had run since
}

// stays reports whether a thread has not run since it was last looked at, nor in the interval before.
func (st *stratum) stays(r *threads.Row) bool {
	return st.passes > 1 && st.seen.x != nil && r.Times.Slices == st.seen.slices && r.Times.Slices == r.Prev.Slices
}

// lookStale is after what time, in seconds, a thread that has not run is looked at again: it may count as idle since.
const lookStale = 1.0

// needsLook reports whether a look at a thread would tell anything new.
func (s *strata) needsLook(tid int, now float64) bool {
	st := s.threads[tid]
	if st == nil {
		return true
	}
	r, ok := s.t.Threads.Get(tid)
	return !ok || !st.stays(&r) || now-st.seen.at > lookStale
}

// lookSampled takes a sample of a blocked thread. The thread may go on while its stack is read: then it is read again.
func (p *profile) lookSampled(tid int, call kernel.BlockedCall, kind threads.State, now float64) {
	for range 3 {
		if call.Running {
			return
		}
		w := p.blocked(call)
		frames := w.Stack.Frames(p.t.Walker)
		again, err := kernel.Blocked(p.t.Proc.PID(), tid)
		if err != nil {
			return
		}
		if again == call {
			p.noteBlocked(tid, w, kind, frames, now)
			return
		}
		call = again
	}
}

func (p *profile) noteBlocked(tid int, w *waits.Thread, kind threads.State, frames []stack.Frame, now float64) {
	frames = p.t.sampled.jumps.Restore(frames)
	x := stackSample{tid: tid, frames: frames, blocked: true, idle: kind == threads.Idle || p.isHalted(tid), call: w.Call}
	if !x.idle {
		var what int
		x.object, what = p.waitsFor(w, frames, now)
		p.add(what, tid, frames, x.object)
		p.noteHolder(x.object, now)
	} else {
		p.t.NoteStack(tid, 0, frames)
	}
	p.t.sampled.note(&x)
	p.t.sampled.sighted(tid, now)
}

// sighted notes when a blocked thread was looked at, and as of which time on a processor.
func (s *strata) sighted(tid int, now float64) {
	seen := &s.stratum(tid).seen
	seen.at = now
	if r, ok := s.t.Threads.Get(tid); ok {
		seen.slices = r.Times.Slices
	}
}

// isHalted reports whether somebody has stopped a thread.
func (p *profile) isHalted(tid int) bool {
	r, ok := p.t.Threads.Get(tid)
	return ok && r.Halted()
}
