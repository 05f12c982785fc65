package daemon

import (
	"maps"

	"culprit/daemon/kernel"
	"culprit/daemon/schedule"
	"culprit/daemon/stack"
	"culprit/daemon/threads"
	"culprit/pcl"
)

// Strata turn stack samples of a target into times. How long a thread ran, was ready and was blocked is known from the scheduler;
// only how that divides among functions is estimated: between two passes a thread's time is shared out evenly among the samples
// of it, those of when it ran and those of when it was blocked each for themselves. So no time is lost or made up, whatever the rate
// at which samples come, and the error is that of a share. d.mu is held in all methods.
type strata struct {
	t       *measured
	why     string // it is not patched
	meters  map[pcl.FuncID][]*sampleMeter
	threads map[int]*stratum
	jumps   stack.TailCalls
	last    float64         // session time of the last pass
	total   [nClocks]weight // of all samples so far
	taken   int             // samples since the last pass of threads that ran
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

// A stratum is one thread since the last pass. Its times wait there, in seconds, until a sample says what for they were used.
type stratum struct {
	run    float64 // on a processor
	active float64 // the same on the wall clock, with what it was ready after it had been displaced
	off    float64 // blocked, and ready after that

	ran, blocked hits
	seen         sight
	passes       int
	again        float64    // s that the only sample of when it was blocked has stood for before
	each         [3]float64 // what a sample stood for last: of a running thread on each clock, of a blocked one
}

// eachOff is the place of a blocked thread's samples in stratum.each.
const eachOff = nClocks

// hits are the samples of a thread in one of its two states, and how many of them each part counts.
type hits struct {
	n  int
	of map[*sampleMeter]int
}

func newStrata(t *measured, why string) *strata {
	return &strata{t: t, jumps: stack.TailCallsOf(t.Program), why: why, last: t.Now(), meters: map[pcl.FuncID][]*sampleMeter{}, threads: map[int]*stratum{}}
}

// A stackSample is what one thread was doing at one moment.
type stackSample struct {
	tid     int
	frames  []stack.Frame      // innermost first
	blocked bool               // else it ran
	idle    bool               // blocked with nothing to do
	call    kernel.BlockedCall // of a blocked thread
	object  string             // what it waits for, as the profile names it
}

// note counts a sample for every part whose timer runs there.
func (s *strata) note(x *stackSample) {
	st := s.stratum(x.tid)
	h := &st.ran
	if x.blocked {
		h = &st.blocked
	} else {
		s.taken++
	}
	var own hits
	for p := range s.candidates(x.frames) {
		if p.counts(x) {
			own.add(p, 1)
			h.add(p, 1)
		}
	}
	h.n++
	if own.n = 1; x.blocked {
		st.seen.x, st.seen.hits, st.seen.spent = x, own, 0
	}
}

func (h *hits) add(p *sampleMeter, n int) {
	if h.of == nil {
		h.of = map[*sampleMeter]int{}
	}
	h.of[p] += n
}

// candidates are the parts with code in a function on the stack.
func (s *strata) candidates(frames []stack.Frame) map[*sampleMeter]bool {
	found := map[*sampleMeter]bool{}
	for _, fr := range frames {
		if fr.Func == nil {
			continue
		}
		for _, p := range s.meters[fr.Func.ID] {
			found[p] = true
		}
	}
	return found
}

func (s *strata) stratum(tid int) *stratum {
	st := s.threads[tid]
	if st == nil {
		st = &stratum{}
		s.threads[tid] = st
	}
	return st
}

// account gives what the kernel accounted to threads since the last pass to the samples taken meanwhile. The thread table has just
// been refreshed.
func (s *strata) account(now float64) {
	interval := now - s.last
	s.last = now
	live := map[int]bool{}
	s.t.Threads.Each(func(r *threads.Row) {
		live[r.TID] = true
		s.stratum(r.TID).take(r, interval)
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

// take adds what the kernel has accounted to a thread since the last pass; of one that was born since, all its life.
func (st *stratum) take(r *threads.Row, interval float64) {
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
	if st.ran.n == 0 && st.seen.x != nil { // it ran so little that it was never met: what it was then is its waking up
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
func (s *strata) settle(st *stratum) {
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
func (s *strata) correlate(st *stratum) {
	more := 2 * st.again * st.each[eachOff]
	s.total[clockWall].squares += more
	for p := range st.blocked.of {
		if p.clock == clockWall {
			p.own.squares += more
		}
	}
}

// bury counts the last samples of a thread that has ended since the last pass. Its last times nobody can read any more: its samples
// stand for what those before stood for, or, if there were none, for the time between two.
func (s *strata) bury(st *stratum) {
	cpu, wall, off := st.each[clockCPU], st.each[clockWall], st.each[eachOff]
	if cpu == 0 {
		cpu, wall = 1.0/sampledHz, 1.0/sampledHz
	}
	if off == 0 {
		off = schedule.BetweenLooks(len(s.threads)).Seconds()
	}
	s.give(st.ran, clockWall, wall)
	s.give(st.ran, clockCPU, cpu)
	s.give(st.blocked, clockWall, off)
}

// give adds samples, of which each stands for so many seconds of a clock, to the parts that count on it.
func (s *strata) give(h hits, clock int, each float64) {
	s.total[clock].add(h.n, each)
	for p, n := range h.of {
		if p.clock == clock {
			p.growth += float64(n) * each
			p.own.add(n, each)
		}
	}
}

// follow has samples counted for a part from now on.
func (s *strata) follow(p *sampleMeter) {
	if len(s.meters) == 0 {
		s.forgive()
	}
	p.before = s.total[p.clock]
	for _, st := range s.threads {
		if st.seen.x != nil && p.counts(st.seen.x) {
			st.seen.hits.add(p, 1)
		}
	}
	seen := map[pcl.FuncID]bool{}
	for i := range p.plan.Requests {
		if id := p.plan.Requests[i].Func; !seen[id] {
			seen[id] = true
			s.meters[id] = append(s.meters[id], p)
		}
	}
}

// forgive drops the times that wait for a sample, when nobody has counted yet whom they could belong to.
func (s *strata) forgive() {
	for _, st := range s.threads {
		st.run, st.active, st.off = 0, 0, 0
	}
}

// forget ends that.
func (s *strata) forget(p *sampleMeter) {
	for i := range p.plan.Requests {
		id := p.plan.Requests[i].Func
		kept := s.meters[id][:0]
		for _, q := range s.meters[id] {
			if q != p {
				kept = append(kept, q)
			}
		}
		if s.meters[id] = kept; len(kept) == 0 {
			delete(s.meters, id)
		}
	}
	for _, st := range s.threads {
		delete(st.ran.of, p)
		delete(st.blocked.of, p)
		delete(st.seen.hits.of, p)
	}
}
