package probe

import (
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/trampoline"
)

// What follows from two readings of a gauge: from when on its value is known, and what it was since then.

// knownSince is the earliest time from which a value of the fresh reading is known, and from which the interval since the last reading,
// at begin, can be told; ok is false if there is none yet. Where changes are seen before the first value that is set, the interval in
// which that comes says nothing.
func (g *gauge) knownSince(begin, now uint64) (from uint64, ok bool) {
	if !g.plan.Sets() {
		return begin, g.shared() || g.how == grid.Sum || len(g.fresh) > 0
	}
	from = now
	for id, s := range g.fresh {
		if f, known := g.knownFrom(id, s, begin, now); known && f < now {
			from, ok = min(from, f), true
		}
	}
	return from, ok
}

// knownFrom is from when on one value is known.
func (g *gauge) knownFrom(id int, s gaugeSum, begin, now uint64) (from uint64, ok bool) {
	last := g.sums[id]
	switch {
	case !g.plan.Sets(), last.since != 0:
		return begin, true
	case s.since == 0, g.plan.Adds():
		return now, s.since != 0
	case begin-s.since < mostLag:
		return s.since, true // while the cells were being read
	}
	return min(max(s.since, begin), now), true // the word is the target's
}

// mostLag is how long before begin a value may have been set that the last reading did not see, in cycles: a second or two.
const mostLag = 1 << 32

// over is what the values of the meter were from a time on up to now, and begin is when they were last read.
func (g *gauge) over(m *Meter, from, begin, now uint64) (values []grid.Held) {
	for id, s := range g.fresh {
		if v, ok := g.overOne(m, id, s, from, begin, now); ok {
			values = append(values, v)
		}
	}
	if len(g.fresh) == 0 && !g.plan.Sets() && g.how == grid.Sum && !m.b.state.Settled && (g.plan.Thread == "" || m.t.Threads.Has(g.plan.Thread)) {
		values = append(values, grid.Held{}) // nothing has changed it
	}
	return values
}

// overOne is what one value was. In a sum it counts for the time in which it was not known as nothing.
func (g *gauge) overOne(m *Meter, id int, s gaugeSum, from, begin, now uint64) (v grid.Held, ok bool) {
	since, known := g.knownFrom(id, s, begin, now)
	if !known || since >= now {
		return v, false
	}
	last := g.sums[id]
	if g.plan.Sets() && last.since == 0 {
		last = gaugeSum{changes: s.changes, area: s.changes * since, value: s.value} // there is nothing before, and no integral
	}
	if v, ok = s.held(&last, since, now); !ok {
		g.sayUnclear(m.t, now-begin)
		return v, false
	}
	if g.how == grid.Sum && since > from {
		v.Mean *= float64(now-since) / float64(now-from)
	}
	return v, true
}

// sayUnclear says, once, that a mean is not known.
func (g *gauge) sayUnclear(t *target.Target, cycles uint64) {
	if !g.unclear {
		g.unclear = true
		t.Logf("%s: %v: the value changes so much in the %.1f s between two readings that its mean is not known", t.Name, g.plan.Pair,
			t.Clock.Seconds(float64(cycles)))
	}
}

// held is what a value was over [since, now]; last is the reading at since. The mean is the value at the beginning, and how far the
// integral is from that of a value that had not changed: modulo 2^64 that is right where the difference is below 2^63. Certain is false
// where it may not be, since the extremes are too far from each other.
func (s *gaugeSum) held(last *gaugeSum, since, now uint64) (v grid.Held, certain bool) {
	low, high := min(last.value, s.value), max(last.value, s.value)
	if s.most != 0 {
		high = max(high, trampoline.GaugeOf(s.most))
	}
	if s.least != 0 {
		low = min(low, trampoline.GaugeOf(^s.least))
	}
	length := now - since
	moved := int64(s.integral(now) - last.integral(since) - last.changes*length)
	v = grid.Held{Mean: float64(int64(last.changes)) + float64(moved)/float64(length), Min: float64(low), Max: float64(high), Last: float64(s.value)}
	return v, (v.Max-v.Min)*float64(length) < 1<<63
}
