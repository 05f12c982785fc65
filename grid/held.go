package grid

import "math"

// A Held is what a value that holds until it changes was over an interval, in the metric's unit.
type Held struct {
	Mean     float64 // weighted by time
	Min, Max float64 // that it had at any moment, at the edges of the interval included
	Last     float64 // at the end
}

// heldAt is a value that is known at one moment only.
func heldAt(v float64) Held { return Held{v, v, v, v} }

func (v Held) bad() bool { return bad(v.Mean) || bad(v.Min) || bad(v.Max) || bad(v.Last) }

// CombineHeld makes one of the values of all threads or processes of a focus, each figure by itself. So the mean and the last value of a
// sum or an average are exact; the extremes of a sum are bounds, since its parts need not have had theirs at the same time. Nothing is
// known, and all are NaN, if there are no values.
func (a Aggregate) CombineHeld(values []Held) Held {
	of := func(f func(Held) float64) float64 {
		list := make([]float64, len(values))
		for i, v := range values {
			list[i] = f(v)
		}
		return a.Combine(list)
	}
	return Held{Mean: of(func(v Held) float64 { return v.Mean }), Min: of(func(v Held) float64 { return v.Min }),
		Max: of(func(v Held) float64 { return v.Max }), Last: of(func(v Held) float64 { return v.Last })}
}

// extremes are the smallest and the largest value in each bin of a SampledFunction, NaN where there are none.
type extremes struct{ low, high []float64 }

func newExtremes(n int) extremes {
	x := extremes{make([]float64, n), make([]float64, n)}
	for i := range n {
		x.clear(i)
	}
	return x
}

func (x *extremes) clear(i int) { x.low[i], x.high[i] = math.NaN(), math.NaN() }

// take has a bin cover what goes from low to high.
func (x *extremes) take(i int, low, high float64) {
	if !(x.low[i] <= low) {
		x.low[i] = low
	}
	if !(x.high[i] >= high) {
		x.high[i] = high
	}
}

// fold joins the bins up to n in pairs: the extremes of both are those of the joined one.
func (x *extremes) fold(n int) {
	half := (n + 1) / 2
	for i := range half {
		j := 2 * i
		low, high := x.low[j], x.high[j]
		if j+1 < len(x.low) && !math.IsNaN(x.low[j+1]) {
			low, high = minKnown(low, x.low[j+1]), maxKnown(high, x.high[j+1])
		}
		x.low[i], x.high[i] = low, high
	}
	for i := half; i < n; i++ {
		x.clear(i)
	}
}

func minKnown(a, b float64) float64 {
	if a <= b {
		return a
	}
	return b
}

func maxKnown(a, b float64) float64 {
	if a >= b {
		return a
	}
	return b
}

// cut is a copy of the first n bins.
func (x *extremes) cut(n int) extremes {
	return extremes{append([]float64(nil), x.low[:n]...), append([]float64(nil), x.high[:n]...)}
}

// Hold records what a value that holds was over (start, end], as Add does for one that did not change. An extreme belongs to every bin
// that the interval overlaps: when in the interval it was is not known. For an EventCounter it adds the mean.
func (h *Histogram) Hold(start, end float64, v Held) {
	h.mu.Lock()
	folded, g := h.addHeld(start, end, v), h.group
	h.mu.Unlock()
	if folded > 0 {
		g.told(folded)
	}
}

// Extremes copies the smallest and the largest value in each bin of a SampledFunction, up to the last filled one; NaN where nothing is
// known. Both are nil for an EventCounter.
func (h *Histogram) Extremes() (low, high []float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.style == EventCounter {
		return nil, nil
	}
	x := h.extremes.cut(h.filled)
	return x.low, x.high
}

// Hold takes what a gauge was over an interval; it is what the Instrumenter calls. That of pairs that are not enabled is counted in
// Dropped.
func (g *Grid) Hold(key PairKey, start, end float64, v Held) { g.sample(key, start, end, v) }
