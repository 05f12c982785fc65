package decide

import (
	"math"
	"slices"
)

const (
	spreadFloor = 0.2 // of the threshold: what few bins show is not trusted to vary less; a constant has a finite t
	floorBins   = 8   // from here on the floor sinks as 1/n: a run of as many equal bins is no chance
	onsetTime   = 2.0 // s; a false answer turns true when every bin of this long held
	onsetBins   = 5   // and there are as many
)

// A Bin is one aligned bin: the averages of the metrics of a test over it, in their order. Start and End are s since the
// session began.
type Bin struct {
	Start, End float64
	Values     []float64
}

// A Window holds the newest aligned bins of one test at one focus, all of one width. The zero value is empty.
type Window struct {
	bins  []Bin
	width float64
}

// Add appends a bin and drops what is older than the window: sufficientTime, but at least five bins.
// After a fold the width changes; bins of another width are dropped since they are not samples of the same thing.
func (w *Window) Add(r Bin) {
	width := r.End - r.Start
	if w.width != 0 && math.Abs(width-w.width) > width/1000 {
		w.bins = w.bins[:0]
	}
	w.width = width
	w.bins = append(w.bins, r)
	if extra := len(w.bins) - w.capacity(); extra > 0 {
		w.bins = append(w.bins[:0], w.bins[extra:]...)
	}
}

func (w *Window) capacity() int {
	return max(5, int(math.Ceil(sufficientTime/w.width-1e-9)))
}

// Len is the number of bins.
func (w *Window) Len() int { return len(w.bins) }

// Width is the width of a bin in seconds; 0 while there is none.
func (w *Window) Width() float64 { return w.width }

// Start is when the oldest bin began, in s since the session began. The window must not be empty.
func (w *Window) Start() float64 { return w.bins[0].Start }

// Span is the time that the bins cover, in seconds.
func (w *Window) Span() float64 { return float64(len(w.bins)) * w.width }

// An Estimate is what a window says about a test. The zero value is that of no bins.
type Estimate struct {
	Bins      int
	Value     float64 // left side of the test over all bins together
	Threshold float64
	Margin    float64   // how far the value is on the true side of the threshold; negative: on the false side
	Nothing   bool      // nothing happened at the focus of the test, or too little to judge
	Stake     float64   // share of the program's active time that would be gained at most, 0..1; NaN if the test does not tell
	Whole     float64   // how many units a value of 1 is; 0 if the test does not tell
	averages  []float64 // of the metrics
	err       float64   // standard error of Margin
	width     float64   // of a bin, in s
}

// Estimate judges all bins together. The spread is that of the jackknife pseudo-values, one per bin: for a test that
// is linear in its metrics they are the values of the single bins, for a ratio they weigh a bin by what happened in
// it (Efron & Stein 1981), so that bins in which nothing happened do not pull a ratio to zero.
func (w *Window) Estimate(t *Test) Estimate {
	n := len(w.bins)
	if n == 0 {
		return Estimate{}
	}
	sums := make([]float64, len(t.Metrics))
	for _, r := range w.bins {
		for i, v := range r.Values {
			sums[i] += v
		}
	}
	e := Estimate{Bins: n, width: w.width, averages: make([]float64, len(sums))}
	for i, v := range sums {
		e.averages[i] = v / float64(n)
	}
	e.Value, e.Threshold = t.Judge(sums, float64(n))
	e.Stake = t.Stake(sums, float64(n))
	e.Nothing = t.Nothing(sums, e.Value, e.Threshold)
	e.Whole = t.Whole(sums, float64(n))
	e.Margin = t.beyond(e.Value, e.Threshold)
	if n < 2 {
		e.err = math.Inf(1)
		return e
	}
	e.err = w.spread(t, sums, t.Margin(e.Value, e.Threshold)) / math.Sqrt(float64(n))
	return e
}

// spread is the standard deviation of the pseudo-values, widened for bins that resemble their neighbours and never
// below a floor (spreadFloor): three bins may be equal by chance.
func (w *Window) spread(t *Test, sums []float64, margin float64) float64 {
	n := float64(len(w.bins))
	pseudo := make([]float64, len(w.bins))
	rest := make([]float64, len(sums))
	mean := 0.0
	for k, r := range w.bins {
		for i := range rest {
			rest[i] = sums[i] - r.Values[i]
		}
		pseudo[k] = n*margin - (n-1)*t.Margin(t.Judge(rest, n-1))
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
	_, threshold := t.Judge(sums, n)
	floor := spreadFloor * math.Min(1, floorBins/n) * math.Abs(threshold)
	return math.Max(math.Sqrt(variance), floor+1e-12)
}

// Onset returns the newest bins as a window of their own if they all hold and last for onsetTime, so that a
// bottleneck that begins is not averaged away by the quiet time before it; else ok is false.
func (w *Window) Onset(t *Test) (recent Window, ok bool) {
	k := len(w.bins)
	for k > 0 && t.Margin(t.Judge(w.bins[k-1].Values, 1)) > 0 {
		k--
	}
	recent = Window{bins: w.bins[k:], width: w.width}
	return recent, k > 0 && len(recent.bins) >= onsetBins && recent.Span() >= onsetTime-1e-9
}

// Share is what part some of the metrics of the test have of all that it reads, by their places; 0 where all are 0.
func (w *Window) Share(places []int) float64 {
	some, all := 0.0, 0.0
	for _, b := range w.bins {
		for i, v := range b.Values {
			if all += v; slices.Contains(places, i) {
				some += v
			}
		}
	}
	if all == 0 {
		return 0
	}
	return some / all
}

// Since returns the bins that began at a time or later as a window of their own.
func (w *Window) Since(at float64) Window {
	k := len(w.bins)
	for k > 0 && w.bins[k-1].Start >= at-1e-9 {
		k--
	}
	return Window{bins: w.bins[k:], width: w.width}
}
