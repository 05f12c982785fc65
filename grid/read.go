package grid

import (
	"math"
	"sync"
)

// Style is that of the metric.
func (h *Histogram) Style() Style { return h.style }

// Start is the left edge of the first bin, in s since session start.
func (h *Histogram) Start() float64 { return h.start }

// Width is the present width of a bin in seconds.
func (h *Histogram) Width() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.width
}

// FilledUntil is the time up to which there are values, in s since session start; Start while there are none.
func (h *Histogram) FilledUntil() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(h.start, h.until)
}

// Bins copies the bins up to the last filled one: growth (EventCounter) or average value (SampledFunction) in each, NaN
// where nothing is known. The last one may be filled in part only.
func (h *Histogram) Bins() []float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]float64(nil), h.bins[:h.filled]...)
}

// Rates is Bins with the growth of an EventCounter divided by the time that it is known for: values per second.
func (h *Histogram) Rates() []float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]float64, h.filled)
	for i := range out {
		out[i] = h.rate(i)
	}
	return out
}

// Complete returns the rates of the bins that lie within [from, to] and are known for their whole width, in order of
// time: samples for a judgement.
func (h *Histogram) Complete(from, to float64) []float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []float64
	for i := range h.filled {
		left := h.start + float64(i)*h.width
		inside := left >= from-snap*h.width && left+h.width <= to+snap*h.width
		if inside && !math.IsNaN(h.bins[i]) && h.covered[i] >= h.width*(1-snap) {
			out = append(out, h.rate(i))
		}
	}
	return out
}

// Sum is the growth over all time (EventCounter; exact for counts) or the integral of the value over time
// (SampledFunction). It is 0 if there are no values.
func (h *Histogram) Sum() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total()
}

func (h *Histogram) total() float64 {
	if h.style == EventCounter {
		return h.sum.value()
	}
	return h.stats(math.Inf(-1), math.Inf(1)).Sum
}

// SumIn is Sum over [from, to]; a bin that lies in it in part counts in proportion. It is exact for counts if the edges
// are those of bins or outside of the values.
func (h *Histogram) SumIn(from, to float64) float64 { return h.Stats(from, to).Sum }

// Average is the mean over [from, to]: per second for an EventCounter. Time for which nothing is known does not count;
// NaN if nothing is known at all.
func (h *Histogram) Average(from, to float64) float64 { return h.Stats(from, to).Average }

// Min is the smallest bin per second of an EventCounter, the smallest value of a SampledFunction; NaN if there is none; see Stats.
func (h *Histogram) Min() float64 { return h.Stats(math.Inf(-1), math.Inf(1)).Min }

// Max is the largest bin per second of an EventCounter, the largest value of a SampledFunction; NaN if there is none; see Stats.
func (h *Histogram) Max() float64 { return h.Stats(math.Inf(-1), math.Inf(1)).Max }

// Current is the last filled bin of an EventCounter, per second, or the one before as long as the last is known for less than half of
// its width; of a SampledFunction it is the latest value. NaN if there is none.
func (h *Histogram) Current() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current()
}

func (h *Histogram) current() float64 {
	if h.style == SampledFunction {
		return h.last
	}
	last := h.filled - 1
	if last < 0 {
		return math.NaN()
	}
	if !h.halfCovered(last) && last > 0 && !math.IsNaN(h.bins[last-1]) {
		last--
	}
	return h.rate(last)
}

// Stats answers for a span of time.
type Stats struct {
	Sum     float64 // growth, or integral of the value
	Average float64 // per second, or mean value; NaN if nothing is known
	// Of an EventCounter the extremes are of the bins that lie in the span in part or whole, per second; bins known for less than half of
	// their width are left out unless there are no others. Of a SampledFunction they are the extremes of the value in all these bins. NaN
	// if there are none.
	Min, Max float64
	Covered  float64 // s for which values are known
	Bins     int     // that are not missing
}

// Stats answers for [from, to]; infinite edges are allowed.
func (h *Histogram) Stats(from, to float64) Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stats(from, to)
	if h.style == EventCounter && from <= h.since && to >= h.until {
		s.Sum = h.sum.value() // bins round where values are no counts
	}
	return s
}

func (h *Histogram) stats(from, to float64) Stats {
	s := Stats{Average: math.NaN(), Min: math.NaN(), Max: math.NaN()}
	var sum compensated
	best := false // a bin that is known for half of its width was seen
	for i := range h.filled {
		if math.IsNaN(h.bins[i]) {
			continue
		}
		lo, hi := h.extent(i)
		share := within(lo, hi, from, to, snap*h.width)
		if share == 0 {
			continue
		}
		s.Bins++
		s.Covered += h.covered[i] * share
		sum.add(h.amount(i) * share)
		if h.style == SampledFunction {
			s.take(h.extremes.low[i])
			s.take(h.extremes.high[i])
			continue
		}
		half := h.halfCovered(i)
		if best && !half {
			continue
		}
		if half && !best {
			best, s.Min, s.Max = true, math.NaN(), math.NaN()
		}
		s.take(h.rate(i))
	}
	s.Sum = sum.value()
	if s.Covered > 0 {
		s.Average = s.Sum / s.Covered
	}
	return s
}

func (s *Stats) take(v float64) {
	if !(s.Min <= v) {
		s.Min = v
	}
	if !(s.Max >= v) {
		s.Max = v
	}
}

// amount is what the bin adds to a sum.
func (h *Histogram) amount(i int) float64 {
	if h.style == EventCounter {
		return h.bins[i]
	}
	return h.bins[i] * h.covered[i]
}

// rate is the bin as it is read: per second for an EventCounter.
func (h *Histogram) rate(i int) float64 {
	if h.style != EventCounter {
		return h.bins[i]
	}
	if h.covered[i] > 0 {
		return h.bins[i] / h.covered[i]
	}
	return h.bins[i] / h.width // all of it came at one moment
}

func (h *Histogram) halfCovered(i int) bool { return h.covered[i] >= h.width/2*(1-snap) }

// extent is the time that the values of a bin come from. Only the first and the last filled bin can be shorter than
// their width in a way that is known.
func (h *Histogram) extent(i int) (lo, hi float64) {
	lo = h.start + float64(i)*h.width
	hi = lo + h.width
	return min(max(lo, h.since), hi), max(min(hi, h.until), lo)
}

// within is the share of (lo, hi] that lies in (from, to]; edges nearer than eps are the same. A moment lies in it or not.
func within(lo, hi, from, to, eps float64) float64 {
	switch {
	case from <= lo+eps && hi <= to+eps:
		return 1
	case hi <= from+eps || to <= lo+eps:
		return 0
	}
	return max(0, min(hi, to)-max(lo, from)) / (hi - lo)
}

// Copy is a histogram of its own with the same content; it is in no group.
func (h *Histogram) Copy() *Histogram {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := *h
	c.mu, c.group = new(sync.Mutex), nil
	c.bins = append([]float64(nil), h.bins...)
	c.covered = append([]float64(nil), h.covered...)
	c.extremes = h.extremes.cut(len(h.extremes.low))
	return &c
}

// copyRange adds to dst what h holds of (from, to], bin by bin. The mutexes of both are held. Values inside a bin are
// taken to be spread evenly.
func (h *Histogram) copyRange(dst *Histogram, from, to float64) {
	for i := range h.filled {
		if math.IsNaN(h.bins[i]) {
			continue
		}
		lo, hi := h.extent(i)
		a, b := max(lo, from), min(hi, to)
		if a > b || a == b && lo < hi {
			continue
		}
		v := h.bins[i]
		if h.style == EventCounter {
			v = cumulative(v, lo, hi, b) - cumulative(v, lo, hi, a)
			if lo == hi {
				v = h.bins[i]
			}
		}
		dst.addHeld(a, b, h.heldIn(i, v, b))
	}
}

// heldIn is what is known of a value that is in bin i, up to a time in it.
func (h *Histogram) heldIn(i int, v, upto float64) Held {
	x := heldAt(v)
	if h.style == SampledFunction {
		x.Min, x.Max = h.extremes.low[i], h.extremes.high[i]
		if upto == h.until {
			x.Last = h.last
		}
	}
	return x
}
