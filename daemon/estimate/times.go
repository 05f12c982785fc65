package estimate

import (
	"maps"
	"slices"

	"culprit/daemon/kernel"
	"culprit/daemon/sampling"
	"culprit/daemon/schedule"
	"culprit/daemon/stack"
	"culprit/daemon/target"
	"culprit/daemon/threads"
	"culprit/pcl"
)

// Times turn stack samples of a target into times, and are a sampling.Receiver. Between two passes a thread's time is shared out evenly among
// the samples of it, those of when it ran and those of when it was blocked each for themselves. So no time is lost or made up, whatever the
// rate at which samples come, and the error is that of a share.
type Times struct {
	t       *target.Target
	cannot  func(sampling.Need) error // what keeps samples from telling that
	meters  map[pcl.FuncID][]*Meter
	all     []*Meter // that are about the whole program, or whole threads
	threads map[int]*threadTime
	waits   bool            // only threads that wait are sampled
	last    float64         // session time of the last pass
	total   [nClocks]weight // of all samples so far
	taken   int             // samples of threads that ran, since Taken was asked
}

// The clocks of timers: a sample of a blocked thread has no processor time.
const (
	clockWall = iota
	clockCPU
	nClocks
)

// A weight adds up samples by the time that each stands for.
type weight struct{ n, sum, squares float64 }

func (w *weight) add(n int, each float64) {
	w.n += float64(n)
	w.sum += float64(n) * each
	w.squares += float64(n) * each * each
}

// A threadTime is one thread since the last pass. Its times wait there, in seconds, until a sample says what for they were used.
type threadTime struct {
	run    float64 // on a processor
	active float64 // the same on the wall clock, with what it was ready after it had been displaced
	off    float64 // blocked, and ready after that

	ran, blocked hits
	seen         lastBlocked
	passes       int
	again        float64    // s that the only sample of when it was blocked has stood for before
	each         [3]float64 // what a sample stood for last: of a running thread on each clock, of a blocked one
}

// eachOff is the place of a blocked thread's samples in threadTime.each.
const eachOff = nClocks

// hits are the samples of a thread in one of its two states, and how many of them each meter counts.
type hits struct {
	n  int
	of map[*Meter]int
}

// Of makes the Times of a target, from now on. cannot says what keeps samples from telling what is needed; nil if nothing does.
func Of(t *target.Target, cannot func(sampling.Need) error) *Times {
	return &Times{t: t, cannot: cannot, last: t.Now(), meters: map[pcl.FuncID][]*Meter{}, threads: map[int]*threadTime{}}
}

// OfWaits is Of where only threads that wait are sampled: it tells timers that run nowhere else.
func OfWaits(t *target.Target, cannot func(sampling.Need) error) *Times {
	s := Of(t, cannot)
	s.waits = true
	return s
}

// Note implements sampling.Receiver: it counts a sample for every meter whose timer runs there.
func (s *Times) Note(x *sampling.Sample) {
	st := s.of(x.TID)
	h := &st.ran
	if x.Blocked {
		h = &st.blocked
	} else {
		s.taken++
	}
	var own hits
	for m := range s.candidates(x.Frames) {
		if m.counts(x) {
			own.add(m, 1)
			h.add(m, 1)
		}
	}
	h.n++
	if own.n = 1; x.Blocked {
		st.seen.x, st.seen.hits, st.seen.spent = x, own, 0
		if r, ok := s.t.Threads.Get(x.TID); ok {
			st.seen.slices = r.Times.Slices
		}
	}
}

// Taken is how many samples of threads that ran were taken since it was last asked.
func (s *Times) Taken() (n int) {
	n, s.taken = s.taken, 0
	return n
}

// Known is how many threads were seen blocked since they began.
func (s *Times) Known() (n int) {
	for _, st := range s.threads {
		if st.seen.x != nil {
			n++
		}
	}
	return n
}

func (h *hits) add(m *Meter, n int) {
	if h.of == nil {
		h.of = map[*Meter]int{}
	}
	h.of[m] += n
}

// candidates are the meters with code in a function on the stack, and those that ask for none.
func (s *Times) candidates(frames []stack.Frame) map[*Meter]bool {
	found := map[*Meter]bool{}
	for _, m := range s.all {
		found[m] = true
	}
	for _, fr := range frames {
		if fr.Func == nil {
			continue
		}
		for _, m := range s.meters[fr.Func.ID] {
			found[m] = true
		}
	}
	return found
}

// of is what is kept of a thread.
func (s *Times) of(tid int) *threadTime {
	st := s.threads[tid]
	if st == nil {
		st = &threadTime{}
		s.threads[tid] = st
	}
	return st
}

// Account gives what the kernel accounted to threads since the last pass to the samples taken meanwhile. The thread table has just
// been refreshed.
func (s *Times) Account(now float64) {
	interval := now - s.last
	s.last = now
	live := map[int]bool{}
	s.t.Threads.Each(func(r *threads.Row) {
		live[r.TID] = true
		s.of(r.TID).take(r, interval, !s.waits)
	})
	for tid, st := range s.threads {
		if !live[tid] {
			s.bury(st)
			delete(s.threads, tid)
		}
	}
	for _, st := range s.threads {
		s.settle(st)
	}
}

// take adds what the kernel has accounted to a thread since the last pass; of one that was born since, all its life. ran says that it was
// sampled while it ran, too.
func (st *threadTime) take(r *threads.Row, interval float64, ran bool) {
	run, ready := r.Times.Run-r.Prev.Run, r.Times.RunQueueWait-r.Prev.RunQueueWait
	if r.TakeBorn() {
		run, ready = r.Times.Run, r.Times.RunQueueWait
		interval = min(interval, max(kernel.Age(r.Times.Start), (run+ready).Seconds()))
	}
	woken := ready.Seconds() * (1 - r.Displaced())
	st.run += max(run, 0).Seconds()
	st.active += max((run+ready).Seconds()-woken, 0)
	st.off += max(interval-(run+ready).Seconds(), 0) + max(woken, 0)
	st.passes++
	if ran && st.ran.n == 0 && st.seen.x != nil { // it ran so little that it was never met: what it was then is its waking up
		st.off, st.active = st.off+st.active, 0
	}
	if st.seen.x != nil && st.blocked.n == 0 {
		st.blocked = hits{n: 1, of: maps.Clone(st.seen.hits.of)}
		if !st.stays(r) {
			st.again = st.seen.spent
			st.seen.spent += st.off
		}
	}
}

// settle shares a thread's times out among its samples.
func (s *Times) settle(st *threadTime) {
	if n := float64(st.ran.n); n > 0 {
		st.each[clockWall], st.each[clockCPU] = st.active/n, st.run/n
		s.give(st.ran, clockWall, st.each[clockWall])
		s.give(st.ran, clockCPU, st.each[clockCPU])
		st.run, st.active, st.ran = 0, 0, hits{}
	}
	if n := float64(st.blocked.n); n > 0 {
		st.each[eachOff] = st.off / n
		s.give(st.blocked, clockWall, st.each[eachOff])
		s.correlate(st)
		if st.again == 0 {
			st.seen.spent = st.each[eachOff]
		}
		st.off, st.blocked, st.again = 0, hits{}, 0
	}
}

// correlate corrects the squares for a sample that stands for several intervals: what it says of them is not independent.
func (s *Times) correlate(st *threadTime) {
	more := 2 * st.again * st.each[eachOff]
	s.total[clockWall].squares += more
	for m := range st.blocked.of {
		if m.clock == clockWall {
			m.own.squares += more
		}
	}
}

// bury counts the last samples of a thread that has ended since the last pass. Its last times nobody can read any more: its samples
// stand for what those before stood for, or, if there were none, for the time between two.
func (s *Times) bury(st *threadTime) {
	cpu, wall, off := st.each[clockCPU], st.each[clockWall], st.each[eachOff]
	if cpu == 0 {
		cpu, wall = 1.0/sampling.ReceivedHz, 1.0/sampling.ReceivedHz
	}
	if off == 0 {
		off = schedule.BetweenLooks(len(s.threads)).Seconds()
	}
	s.give(st.ran, clockWall, wall)
	s.give(st.ran, clockCPU, cpu)
	s.give(st.blocked, clockWall, off)
}

// give adds samples, of which each stands for so many seconds of a clock, to the meters that count on it.
func (s *Times) give(h hits, clock int, each float64) {
	s.total[clock].add(h.n, each)
	for m, n := range h.of {
		if m.clock == clock {
			m.growth += float64(n) * each
			m.own.add(n, each)
		}
	}
}

// follow has samples counted for a meter from now on.
func (s *Times) follow(m *Meter) {
	if len(s.meters)+len(s.all) == 0 {
		s.forgive()
	}
	m.before = s.total[m.clock]
	for _, st := range s.threads {
		if st.seen.x != nil && m.counts(st.seen.x) {
			st.seen.hits.add(m, 1)
		}
	}
	if m.isWhole() {
		s.all = append(s.all, m)
	}
	seen := map[pcl.FuncID]bool{}
	for i := range m.plan.Requests {
		if id := m.plan.Requests[i].Func; !seen[id] {
			seen[id] = true
			s.meters[id] = append(s.meters[id], m)
		}
	}
}

// forgive drops the times that wait for a sample, when nobody has counted yet whom they could belong to.
func (s *Times) forgive() {
	for _, st := range s.threads {
		st.run, st.active, st.off = 0, 0, 0
	}
}

// forget ends that.
func (s *Times) forget(m *Meter) {
	s.all = slices.DeleteFunc(s.all, func(q *Meter) bool { return q == m })
	for i := range m.plan.Requests {
		id := m.plan.Requests[i].Func
		kept := s.meters[id][:0]
		for _, q := range s.meters[id] {
			if q != m {
				kept = append(kept, q)
			}
		}
		if s.meters[id] = kept; len(kept) == 0 {
			delete(s.meters, id)
		}
	}
	for _, st := range s.threads {
		delete(st.ran.of, m)
		delete(st.blocked.of, m)
		delete(st.seen.hits.of, m)
	}
}
