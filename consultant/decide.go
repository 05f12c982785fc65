package consultant

import "math"

// The sequential test. The bins of a node's histograms are its samples; a conclusion is drawn as soon as the
// confidence interval of their mean excludes the threshold. Looking again at every new bin would raise the rate of
// false alarms, so the error that may be spent at the n-th bin is errorBudget·2/(n(n-1)), which sums to errorBudget
// over all looks from the third on (an alpha-spending rule; Armitage, McPherson & Rowe 1969 is the reason for one).
// This holds for bins that are independent; for a series that resembles itself the spread is widened, which keeps the
// error small but not below errorBudget.
const (
	errorBudget    = 0.01 // chance of one wrong conclusion, over all looks at one node
	hysteresis     = 0.05 // of the threshold; Paradyn's PC hysteresisRange
	sufficientTime = 6.0  // s; then the point estimate decides; Paradyn's sufficientTime
	minBins        = 3    // fewer say nothing of their spread
	falseFactor    = 2    // a false answer must have been observed this much longer: nobody looks at that node again
	spreadFloor    = 0.2  // of the threshold: what few bins show is not trusted to vary less; a constant has a finite t
	floorBins      = 8    // from here on the floor sinks as 1/n: a run of as many equal bins is no chance
	flipTail       = 0.05 // after sufficientTime an answer is changed only if chance explains it this rarely
	onsetTime      = 2.0  // s; a false node under watch turns true when every bin of this long held
	maxConfidence  = 0.9999
)

// A binRow is one aligned bin: the averages of a hypothesis's metrics over it, in the order of its metrics.
type binRow struct {
	start, end float64
	vals       []float64
}

// A window holds the newest aligned bins of one node, all of one width.
type window struct {
	rows  []binRow
	width float64
}

// add appends a bin and drops what is older than the window: sufficientTime, but at least five bins.
// After a fold the width changes; bins of another width are dropped since they are not samples of the same thing.
func (w *window) add(r binRow) {
	width := r.end - r.start
	if w.width != 0 && math.Abs(width-w.width) > width/1000 {
		w.rows = w.rows[:0]
	}
	w.width = width
	w.rows = append(w.rows, r)
	if extra := len(w.rows) - w.capacity(); extra > 0 {
		w.rows = append(w.rows[:0], w.rows[extra:]...)
	}
}

func (w *window) capacity() int {
	return max(5, int(math.Ceil(sufficientTime/w.width-1e-9)))
}

// span is the time that the bins cover, in seconds.
func (w *window) span() float64 { return float64(len(w.rows)) * w.width }

// An estimate is what a window says about a hypothesis.
type estimate struct {
	n         int
	value     float64 // left side of the test over all bins together
	threshold float64
	margin    float64 // how far the value is on the true side of the threshold; negative: on the false side
	err       float64 // standard error of margin
	nothing   bool    // nothing happened at the node's own focus, or too little to judge
}

// estimate judges all bins together. The spread is that of the jackknife pseudo-values, one per bin: for a test that
// is linear in its metrics they are the values of the single bins, for a ratio they weigh a bin by what happened in
// it (Efron & Stein 1981), so that bins in which nothing happened do not pull a ratio to zero.
func (w *window) estimate(h *hypothesis) estimate {
	n := len(w.rows)
	if n == 0 {
		return estimate{}
	}
	sums := make([]float64, len(h.metrics))
	for _, r := range w.rows {
		for i, v := range r.vals {
			sums[i] += v
		}
	}
	e := estimate{n: n}
	e.value, e.threshold = h.judge(sums, float64(n))
	e.nothing = h.nothing(sums, e.value, e.threshold)
	e.margin = h.margin(e.value, e.threshold)
	if n < 2 {
		e.err = math.Inf(1)
		return e
	}
	e.err = w.spread(h, sums, e.margin) / math.Sqrt(float64(n))
	return e
}

// spread is the standard deviation of the pseudo-values, widened for bins that resemble their neighbours and never
// below a floor (spreadFloor): three bins may be equal by chance.
func (w *window) spread(h *hypothesis, sums []float64, margin float64) float64 {
	n := float64(len(w.rows))
	pseudo := make([]float64, len(w.rows))
	rest := make([]float64, len(sums))
	mean := 0.0
	for k, r := range w.rows {
		for i := range rest {
			rest[i] = sums[i] - r.vals[i]
		}
		pseudo[k] = n*margin - (n-1)*h.margin(h.judge(rest, n-1))
		mean += pseudo[k] / n
	}
	var square, lag float64
	for k, p := range pseudo {
		square += (p - mean) * (p - mean)
		if k > 0 {
			lag += (p - mean) * (pseudo[k-1] - mean)
		}
	}
	variance := square / (n - 1)
	if r := lag / square; n >= 8 && square > 0 && r > 0 {
		r = math.Min(r, 0.8)
		variance *= (1 + r) / (1 - r) // effective number of samples of a first-order autoregressive series
	}
	_, threshold := h.judge(sums, n)
	floor := spreadFloor * math.Min(1, floorBins/n) * math.Abs(threshold)
	return math.Max(math.Sqrt(variance), floor+1e-12)
}

// A conclusion is the answer of the sequential test. Unless settled is set nothing is decided yet.
type conclusion struct {
	settled    bool
	holds      bool
	confidence float64 // 0.5..1
}

// conclude applies the test. before is the state so far: Testing, True or False; minObserve is in seconds.
// A node that was concluded before changes only when its value is beyond the threshold by the hysteresis.
func conclude(e estimate, width float64, before State, minObserve float64) conclusion {
	span := float64(e.n) * width
	if e.n < minBins || span < minObserve-1e-9 {
		return conclusion{}
	}
	if e.nothing {
		// Laplace's rule of succession: the chance that something happens in the next bin after n without anything.
		return conclusion{settled: span >= falseFactor*minObserve-1e-9, confidence: 1 - 1/float64(e.n+2)}
	}
	margin := e.margin
	switch before {
	case True:
		margin += hysteresis * math.Abs(e.threshold)
	case False:
		margin -= hysteresis * math.Abs(e.threshold)
	}
	c := conclusion{holds: margin > 0}
	n := float64(e.n)
	tail := studentTail(math.Abs(margin)/e.err, n-1)
	spent := errorBudget * 2 / (n * (n - 1))
	patient := c.holds || span >= falseFactor*minObserve-1e-9
	switch {
	case tail <= spent && patient:
		c.settled, c.confidence = true, math.Min(1-tail*n*(n-1)/2, maxConfidence)
	case span >= sufficientTime-width/2 && e.n >= 5 && (before == Testing || tail <= flipTail):
		// The looks before this one could have erred too; an answer that did not come early is never as sure.
		c.settled, c.confidence = true, math.Max(0.5, math.Min(1-tail-errorBudget, 1-2*errorBudget))
	}
	return c
}

// confidenceOf is how sure the sign of the margin is, looked at now for the first time.
func confidenceOf(e estimate, margin float64) float64 {
	if e.n < 2 {
		return 0.5
	}
	return math.Min(1-studentTail(math.Abs(margin)/e.err, float64(e.n-1)), maxConfidence)
}

// onset returns the newest bins as a window of their own if they all hold and last for onsetTime, so that a
// bottleneck that begins is not averaged away by the quiet time before it; else ok is false.
func (w *window) onset(h *hypothesis) (recent window, ok bool) {
	k := len(w.rows)
	for k > 0 && h.margin(h.judge(w.rows[k-1].vals, 1)) > 0 {
		k--
	}
	recent = window{rows: w.rows[k:], width: w.width}
	return recent, k > 0 && len(recent.rows) >= 5 && recent.span() >= onsetTime-1e-9
}

// since returns the bins that began at time t or later as a window of their own.
func (w *window) since(t float64) window {
	k := len(w.rows)
	for k > 0 && w.rows[k-1].start >= t-1e-9 {
		k--
	}
	return window{rows: w.rows[k:], width: w.width}
}
