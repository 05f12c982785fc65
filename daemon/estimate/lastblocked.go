package estimate

import (
	"culprit/daemon/sampling"
	"culprit/daemon/threads"
)

// A lastBlocked is the last sample of a thread that was blocked. As long as the thread does not run, it says what the thread does without
// another look. In a program of hundreds of threads, of which each is looked at rarely, it also stands for what the thread does until
// the next look.
type lastBlocked struct {
	x      *sampling.Sample // nil before the first
	hits   hits             // of this sample alone
	slices uint64           // how often the thread had been put on a processor
	spent  float64          // s that it stood for although the thread had run since
}

// stays reports whether a thread has not run since it was last looked at, nor in the interval before.
func (st *threadTime) stays(r *threads.Row) bool {
	return st.passes > 1 && st.seen.x != nil && r.Times.Slices == st.seen.slices && r.Times.Slices == r.Prev.Slices
}

// lookStale is after what time, in seconds, a thread that has not run is looked at again: it may count as idle since.
const lookStale = 1.0

// NeedsLook implements sampling.Receiver.
func (s *Times) NeedsLook(tid int, now float64) bool {
	st := s.threads[tid]
	if st == nil {
		return true
	}
	r, ok := s.t.Threads.Get(tid)
	return !ok || !st.stays(&r) || now-st.seen.x.At > lookStale
}
