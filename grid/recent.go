package grid

import "sync"

// recentTime is how long the intervals of a pair are kept, in s, and recentCount how many at most.
const (
	recentTime  = 60.0
	recentCount = 512
)

// An Interval is one reading of a pair: over (Start, End], in s since session start, the rate of growth in units a second of an EventCounter, or the
// time-weighted mean of a SampledFunction. Start is less than End.
type Interval struct{ Start, End, Value float64 }

// recent keeps the last readings of a pair as they came: a Histogram joins them with others after a while. They do not overlap, and are in order of time.
// The zero value is empty.
type recent struct {
	mu   sync.Mutex
	list []Interval
	rest float64 // growth that came without an interval
}

// add takes a reading. What came in an interval that was read before, of a process that has ended, belongs to the reading that was.
func (r *recent) add(style Style, start, end, value float64) {
	if bad(start) || bad(end) || bad(value) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.list); n > 0 && start < r.list[n-1].End {
		if end <= r.list[n-1].End {
			r.late(style, end, value)
			return
		}
		start = r.list[n-1].End
	}
	if style == EventCounter {
		value, r.rest = value+r.rest, 0
		if start >= end {
			r.rest = value
			return
		}
		value /= end - start
	}
	if start < end {
		r.list = append(r.list, Interval{start, end, value})
		r.drop(end)
	}
}

// late adds growth to the interval in which a time is.
func (r *recent) late(style Style, at, growth float64) {
	for i := len(r.list) - 1; i >= 0 && style == EventCounter; i-- {
		if v := &r.list[i]; v.Start < at && at <= v.End {
			v.Value += growth / (v.End - v.Start)
			return
		}
	}
}

// drop forgets what is too old at a time.
func (r *recent) drop(now float64) {
	n := max(0, len(r.list)-recentCount)
	for n < len(r.list) && r.list[n].End < now-recentTime {
		n++
	}
	if n >= recentCount/4 { // not with every reading
		r.list = append(r.list[:0], r.list[n:]...)
	}
}

// after copies the intervals that end after a time.
func (r *recent) after(t float64) []Interval {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := len(r.list)
	for i > 0 && r.list[i-1].End > t {
		i--
	}
	return append([]Interval(nil), r.list[i:]...)
}

// Intervals are the readings of a pair that end after a session time, oldest first: those of the last minute at least, as far as there were any. There are
// none of a pair that was never enabled.
func (g *Grid) Intervals(key PairKey, after float64) []Interval {
	g.mu.RLock()
	defer g.mu.RUnlock()
	p := g.pairs[key]
	if p == nil {
		return nil
	}
	return p.recent.after(after)
}
