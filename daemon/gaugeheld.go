package daemon

import (
	"culprit/grid"
	"culprit/trampoline"
)

// What follows from two readings of a gauge: from when on its value is known, and what it was since then.

// knownSince is the earliest time from which a value of the fresh reading is known, and from which the interval since the last reading,
// at begin, can be told; ok is false if there is none yet. Where changes are seen before the first value that is set, the interval in
// which that comes says nothing.
func (p *part) knownSince(begin, now uint64) (from uint64, ok bool) {
	if !p.plan.Sets() {
		return begin, p.shared() || p.aggregate() == grid.Sum || len(p.gauge.fresh) > 0
	}
	from = now
	for id, s := range p.gauge.fresh {
		if f, known := p.knownFrom(id, s, begin, now); known && f < now {
			from, ok = min(from, f), true
		}
	}
	return from, ok
}

// knownFrom is from when on one value is known.
func (p *part) knownFrom(id int, s gaugeSum, begin, now uint64) (from uint64, ok bool) {
	last := p.gauge.sums[id]
	switch {
	case !p.plan.Sets(), last.since != 0:
		return begin, true
	case s.since == 0, p.plan.Adds():
		return now, s.since != 0
	case begin-s.since < mostLag:
		return s.since, true // while the cells were being read
	}
	return min(max(s.since, begin), now), true // the word is the target's
}

// mostLag is how long before begin a value may have been set that the last reading did not see, in cycles: a second or two.
const mostLag = 1 << 32

// over is what the values of the part were from a time on up to now, and begin is when they were last read.
func (p *part) over(from, begin, now uint64) (values []grid.Held) {
	for id, s := range p.gauge.fresh {
		if v, ok := p.overOne(id, s, from, begin, now); ok {
			values = append(values, v)
		}
	}
	if len(p.gauge.fresh) == 0 && !p.plan.Sets() && p.aggregate() == grid.Sum && !p.t.settled && (p.plan.Thread == "" || p.t.Threads.Has(p.plan.Thread)) {
		values = append(values, grid.Held{}) // nothing has changed it
	}
	return values
}

// overOne is what one value was. In a sum it counts for the time in which it was not known as nothing.
func (p *part) overOne(id int, s gaugeSum, from, begin, now uint64) (v grid.Held, ok bool) {
	since, known := p.knownFrom(id, s, begin, now)
	if !known || since >= now {
		return v, false
	}
	last := p.gauge.sums[id]
	if p.plan.Sets() && last.since == 0 {
		last = gaugeSum{changes: s.changes, area: s.changes * since, value: s.value} // there is nothing before, and no integral
	}
	if v, ok = s.held(&last, since, now); !ok {
		p.sayUnclear(now - begin)
		return v, false
	}
	if p.aggregate() == grid.Sum && since > from {
		v.Mean *= float64(now-since) / float64(now-from)
	}
	return v, true
}

// sayUnclear says, once, that a mean is not known.
func (p *part) sayUnclear(cycles uint64) {
	if !p.gauge.unclear {
		p.gauge.unclear = true
		p.t.Logf("%s: %v: the value changes so much in the %.1f s between two readings that its mean is not known", p.t.Name, p.plan.Pair,
			p.t.Clock.Seconds(float64(cycles)))
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
