package grid

import (
	"math"
	"sync"
)

// The shape of a histogram (Paradyn: 1,000 bins of 0.2 s at first, so that the first fold comes after 200 s).
const (
	// HistogramBins is the number of bins.
	HistogramBins = 1000
	// FinestWidth is the width of a bin before the first fold, in seconds.
	FinestWidth = 0.2

	// maxTime is the latest time that is believed, in seconds: 31 years. A later one would fold everything into one bin.
	maxTime = 1e9
	// snap is how near to the edge of a bin, in bins, a time counts as the edge: 0.2 us at the finest width.
	// Without it the rounding of 0.6/0.2 would put a sliver into the bin before.
	snap = 1e-6
	// finestGrain is what shares of a value are multiples of, see Histogram.grain.
	finestGrain = 1.0 / (1 << 20)
	// exactLimit is up to where a float64 holds every integer.
	exactLimit = 1 << 53
)

// A Histogram keeps how a metric went over time in a fixed number of bins. When time runs past the last bin,
// neighbouring bins are joined and their width doubles; its memory never grows (16 KB, 32 KB for a SampledFunction). All times are seconds since the
// session started.
//
// A bin of an EventCounter holds the growth in it, one of a SampledFunction the time-weighted average and the smallest and largest
// value; a bin that was never filled holds NaN. What values sum up to is exact for integers: shares of a value are multiples of a grain, a
// power of two so large that no sum of bins needs rounding, and the last share is the remainder.
type Histogram struct {
	mu    *sync.Mutex // that of the group if there is one, guards what follows
	group *FoldGroup  // nil if it folds alone

	style  Style
	start  float64 // left edge of bin 0
	limit  float64 // what comes later does not belong here; +Inf unless the phase has ended
	width  float64 // of a bin
	closed bool    // it takes no more values; see compact

	bins    []float64
	covered []float64 // seconds of the bin for which a value is known
	filled  int       // bins up to and including the last filled one

	extremes extremes // of the bins (SampledFunction)
	last     float64  // the latest value (SampledFunction); NaN if there is none

	since, until float64 // of the values; until is -Inf while there are none

	sum   compensated // of all shares (EventCounter)
	gross float64     // of the absolute values, which bounds every partial sum
	grain float64     // shares are multiples of it, 0 once sums are no longer exact
}

// NewHistogram makes an empty histogram whose first bin starts at start (s since session start), at the finest width.
func NewHistogram(start float64, style Style) *Histogram {
	return newHistogram(start, style, FinestWidth, new(sync.Mutex))
}

func newHistogram(start float64, style Style, width float64, mu *sync.Mutex) *Histogram {
	h := &Histogram{
		mu: mu, style: style, start: start, limit: math.Inf(1), width: width,
		bins:    make([]float64, HistogramBins),
		covered: make([]float64, HistogramBins),
		since:   math.Inf(1), until: math.Inf(-1),
		grain: finestGrain, last: math.NaN(),
	}
	if style == SampledFunction {
		h.extremes = newExtremes(HistogramBins)
	}
	for i := range h.bins {
		h.bins[i] = math.NaN()
	}
	return h
}

// WidthFor is the smallest width, 0.2 s times a power of two, with which a histogram covers the elapsed seconds.
func WidthFor(elapsed float64) float64 {
	w := FinestWidth
	for elapsed > w*HistogramBins && elapsed <= maxTime {
		w *= 2
	}
	return w
}

// Add spreads a value over the bins that (start, end] overlaps, in proportion. For an EventCounter the value is the
// growth over the interval; if the interval is empty all of it goes to the bin of end. For a SampledFunction the value
// held over the interval; if that is empty, since the value before it, but not longer than the width of a bin.
// The part of the interval before the start of the histogram is cut off with its share of the value. Values and times
// that are not finite, and times beyond 1e9 s, are left out: they would be missing rather than wrong.
// If a fold was due, the group's callback runs before Add returns.
func (h *Histogram) Add(start, end, value float64) {
	h.mu.Lock()
	folded, g := h.add(start, end, value), h.group
	h.mu.Unlock()
	if folded > 0 {
		g.told(folded)
	}
}

// add returns the new width if it had to fold, else 0. The mutex is held.
func (h *Histogram) add(start, end, value float64) (folded float64) {
	return h.addHeld(start, end, heldAt(value))
}

// addHeld is add of a value that may have changed meanwhile.
func (h *Histogram) addHeld(start, end float64, v Held) (folded float64) {
	value := v.Mean
	if h.closed || v.bad() || bad(end) || math.Abs(end) > maxTime {
		return 0
	}
	if !(start < end) {
		start = h.emptyInterval(end)
	}
	if math.IsInf(start, 0) || end < h.start || start >= h.limit || start == end && start < h.start {
		return 0
	}
	from, to := max(start, h.start), min(end, h.limit)
	if h.style == EventCounter && (from > start || to < end) {
		value = cumulative(value, start, end, to) - cumulative(value, start, end, from)
	}
	if from >= to && start < end {
		return 0 // it only touches the edge
	}
	folded = h.makeRoom(to)
	h.since, h.until = min(h.since, from), max(h.until, to)
	if h.style == EventCounter {
		h.spread(from, to, value)
	} else {
		h.hold(from, to, v)
	}
	return folded
}

// emptyInterval chooses the start of an interval that has none.
func (h *Histogram) emptyInterval(end float64) float64 {
	if h.style == EventCounter {
		return end
	}
	return min(end, max(h.until, end-h.width))
}

// cumulative is how much of the value falls before t. Counts stay whole, so that the two sides of a cut add up to the
// value and both are counts.
func cumulative(value, start, end, t float64) float64 {
	switch {
	case t <= start:
		return 0
	case t >= end:
		return value
	}
	v := value * ((t - start) / (end - start))
	if value == math.Trunc(value) {
		return math.Round(v)
	}
	return v
}

// makeRoom folds until the time has a bin.
func (h *Histogram) makeRoom(t float64) (folded float64) {
	for h.position(t) > HistogramBins {
		if h.group != nil {
			h.group.foldAll()
		} else {
			h.fold()
		}
		folded = h.width
	}
	return folded
}

// position is the time in bins from the start; near the edge of a bin it is the edge.
func (h *Histogram) position(t float64) float64 {
	x := (t - h.start) / h.width
	if r := math.Round(x); math.Abs(x-r) < snap {
		return r
	}
	return x
}

// binRange returns the positions of an interval and the first and last bin that it overlaps.
func (h *Histogram) binRange(from, to float64) (a, b float64, first, last int) {
	a, b = h.position(from), h.position(to)
	last = clampBin(int(math.Ceil(b)) - 1)
	first = min(clampBin(int(math.Floor(a))), last)
	return a, b, first, last
}

func clampBin(i int) int { return min(max(i, 0), HistogramBins-1) }

// spread adds the growth over (from, to].
func (h *Histogram) spread(from, to, value float64) {
	h.keepExact(value)
	h.sum.add(value)
	a, b, first, last := h.binRange(from, to)
	given := 0.0
	for i := first; i < last; i++ {
		upto := h.toGrain(value * ((float64(i+1) - a) / (b - a)))
		h.put(i, upto-given, h.overlap(i, a, b))
		given = upto
	}
	h.put(last, value-given, h.overlap(last, a, b))
}

// overlap is how long (a, b], in bins, overlaps the bin, in seconds.
func (h *Histogram) overlap(i int, a, b float64) float64 {
	return max(0, min(b, float64(i+1))-max(a, float64(i))) * h.width
}

func (h *Histogram) put(i int, value, seconds float64) {
	if math.IsNaN(h.bins[i]) {
		h.bins[i] = 0
	}
	h.bins[i] += value
	h.covered[i] = min(h.covered[i]+seconds, h.width)
	h.filled = max(h.filled, i+1)
}

// hold records what the value was over (from, to].
func (h *Histogram) hold(from, to float64, v Held) {
	a, b, first, last := h.binRange(from, to)
	for i := first; i <= last; i++ {
		h.bins[i], h.covered[i] = blend(h.bins[i], h.covered[i], v.Mean, h.overlap(i, a, b), h.width)
		h.extremes.take(i, v.Min, v.Max)
		h.filled = max(h.filled, i+1)
	}
	h.last = v.Last
}

// blend is the time-weighted average of two values, of which either may be missing, and the time it stands for.
func blend(v1, t1, v2, t2, most float64) (value, seconds float64) {
	switch t := t1 + t2; {
	case math.IsNaN(v2):
		return v1, t1
	case math.IsNaN(v1):
		return v2, min(t2, most)
	case t <= 0:
		return v2, 0
	default:
		return v1*(t1/t) + v2*(t2/t), min(t, most)
	}
}

// toGrain rounds a share to the grain.
func (h *Histogram) toGrain(v float64) float64 {
	if h.grain == 0 {
		return v
	}
	return math.Round(v/h.grain) * h.grain
}

// keepExact prepares for another value: it coarsens the grain while sums could need more than 53 bits, and gives
// exactness up for values that are no multiples of the grain.
func (h *Histogram) keepExact(value float64) {
	h.gross += math.Abs(value)
	for h.grain > 0 && h.grain < 1 && h.gross >= exactLimit*h.grain {
		h.coarsen(h.grain * 16)
	}
	if h.grain > 0 && (h.gross >= exactLimit*h.grain || value != math.Floor(value/h.grain)*h.grain) {
		h.grain = 0
	}
}

// coarsen makes all bins multiples of a larger grain; what a bin loses goes to the next one.
func (h *Histogram) coarsen(grain float64) {
	carry, last := 0.0, -1
	for i, v := range h.bins[:h.filled] {
		if math.IsNaN(v) {
			continue
		}
		carry += v
		whole := math.Floor(carry/grain) * grain
		h.bins[i] = whole
		carry -= whole
		last = i
	}
	h.grain = grain
	if carry != 0 { // the values were no multiples of the new grain
		h.bins[last] += carry
		h.grain = 0
	}
}

// Fold joins neighbouring bins and doubles the width. Histograms of a group fold together, and its callback runs.
func (h *Histogram) Fold() {
	h.mu.Lock()
	g := h.group
	if g != nil {
		g.foldAll()
	} else {
		h.fold()
	}
	w := h.width
	h.mu.Unlock()
	g.told(w)
}

// fold joins the bins of this histogram only.
func (h *Histogram) fold() {
	h.width *= 2
	if h.style == SampledFunction {
		h.extremes.fold(h.filled)
	}
	half := (h.filled + 1) / 2
	for i := range half {
		j := 2 * i
		v1, t1 := h.bins[j], h.covered[j]
		v2, t2 := math.NaN(), 0.0
		if j+1 < len(h.bins) {
			v2, t2 = h.bins[j+1], h.covered[j+1]
		}
		if h.style == EventCounter {
			h.bins[i], h.covered[i] = addMissing(v1, v2), min(t1+t2, h.width)
		} else {
			h.bins[i], h.covered[i] = blend(v1, t1, v2, t2, h.width)
		}
	}
	for i := half; i < h.filled; i++ {
		h.bins[i], h.covered[i] = math.NaN(), 0
	}
	h.filled = half
}

// addMissing is the sum in which a missing value counts as nothing, unless both are missing.
func addMissing(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return a + b
}

func bad(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// A compensated sum carries what rounding lost (Neumaier, ZAMM 54, 1974).
type compensated struct{ sum, lost float64 }

func (c *compensated) add(v float64) {
	t := c.sum + v
	if math.Abs(c.sum) >= math.Abs(v) {
		c.lost += (c.sum - t) + v
	} else {
		c.lost += (v - t) + c.sum
	}
	c.sum = t
}

func (c *compensated) value() float64 { return c.sum + c.lost }
