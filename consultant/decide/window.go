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

// A Bin is one reading: the averages of the metrics of a test over it, in their order. Start and End are s since the
// session began.
type Bin struct {
	Start, End float64
	Values     []float64
}

// width is how long the reading is, in s.
func (b Bin) width() float64 { return b.End - b.Start }

// A Window holds the newest readings of one test at one focus. They may be of different lengths: each counts for as long as it is. The zero value is
// empty.
type Window struct {
	bins []Bin
	same float64 // s; for how long the answer was what it is before the first of them
	yes  bool    // the answer
	past past    // what was read before them
}

// Add appends a reading and drops what the window does not need: the readings before those that last for sufficientTime, and are fewestBins at least.
func (w *Window) Add(r Bin) {
	w.bins = append(w.bins, r)
	first, span := len(w.bins), 0.0
	for first > 0 && (span < sufficientTime-1e-9 || len(w.bins)-first < fewestBins) {
		first--
		span += w.bins[first].width()
	}
	for _, b := range w.bins[:first] {
		w.same += b.width()
		w.past.add(b)
	}
	w.bins = append(w.bins[:0], w.bins[first:]...)
}

// Len is the number of readings.
func (w *Window) Len() int { return len(w.bins) }

// Start is when the oldest bin began, in s since the session began. The window must not be empty.
func (w *Window) Start() float64 { return w.bins[0].Start }

// Span is the time that the readings cover, in seconds.
func (w *Window) Span() (s float64) {
	for _, b := range w.bins {
		s += b.width()
	}
	return s
}

// An Estimate is what a window says about a test. The zero value is that of no bins.
type Estimate struct {
	Bins      int
	Value     float64 // left side of the test over all bins together
	Threshold float64
	Margin    float64   // how far the value is on the true side of the threshold; negative: on the false side
	Nothing   bool      // nothing happened at the focus of the test, or too little to judge
	Stake     float64   // share of the program's active time that would be gained at most, 0..1; NaN if the test does not tell
	Whole     float64   // how many units a value of 1 is; 0 if the test does not tell
	Used      float64   // how many units there were; 0 if the test does not tell
	Share     bool      // the value is a part of a whole: beyond 1 only as far as the measurement errs
	averages  []float64 // of the metrics
	err       float64   // standard error of Margin, of what was seen
	long      longRun   // of Margin, and of what came before where the program did the same
	before    float64   // what that makes of Margin: the difference
	span      float64   // of the readings, in s
	same      float64   // s; for how long the sign of Margin has been what it is
	likely    bool      // it held in an earlier run
}

// Likely is the estimate of a test of which it is known whether it held in an earlier run: less speaks for it then.
func (e Estimate) Likely(held bool) Estimate {
	e.likely = held
	return e
}

// Error is the standard error of Value; NaN if it is not known. Of readings that were measured it is that of the program in the long run, of which
// a prior knows more than a few readings do (see confidence.go).
func (e Estimate) Error() float64 {
	err := e.err
	if e.long.err > 0 {
		err = e.long.err
	}
	if !(err > 0) || math.IsInf(err, 1) {
		return math.NaN()
	}
	return err
}

// Estimate judges all readings together, each for as long as it is. The spread is that of the jackknife pseudo-values, one
// per reading: for a test that is linear in its metrics they are the values of the single readings, for a ratio they weigh a
// reading by what happened in it (Efron & Stein 1981), so that those in which nothing happened do not pull a ratio to zero.
func (w *Window) Estimate(t *Test) Estimate {
	n := len(w.bins)
	if n == 0 {
		return Estimate{}
	}
	sums := make([]float64, len(t.Metrics))
	for _, r := range w.bins {
		for i, v := range r.Values {
			sums[i] += v * r.width()
		}
	}
	span := w.Span()
	e := Estimate{Bins: n, span: span, averages: make([]float64, len(sums))}
	for i, v := range sums {
		e.averages[i] = v / span
	}
	e.Value, e.Threshold = t.Judge(sums, span)
	e.Stake = t.Stake(sums, span)
	e.Nothing = t.Nothing(sums, e.Value, e.Threshold)
	e.Whole, e.Used, e.Share = t.Whole(sums, span), t.Used(sums, span), t.share && e.Threshold <= 1
	e.Margin = t.beyond(e.Value, e.Threshold)
	if yes := e.Margin > 0; yes != w.yes {
		w.same, w.yes = 0, yes
	}
	e.same = w.same + span
	if n < 2 {
		e.err = math.Inf(1)
		return e
	}
	readings := w.pseudo(t, sums, t.Margin(e.Value, e.Threshold))
	e.err = spread(readings, e.Threshold) / math.Sqrt(float64(n))
	e.long = longRunOf(readings, span, math.Max(math.Abs(e.Value)/2, math.Abs(e.Threshold)))
	all, known := w.past.together(t, e.Margin, e.long)
	e.before, e.long = all-e.Margin, known
	return e
}

// pseudo are the pseudo-values of the margin.
func (w *Window) pseudo(t *Test, sums []float64, margin float64) []float64 {
	span := w.Span()
	list := make([]float64, len(w.bins))
	rest := make([]float64, len(sums))
	for k, r := range w.bins {
		part := r.width()
		for i := range rest {
			rest[i] = sums[i] - r.Values[i]*part
		}
		list[k] = (span*margin - (span-part)*t.Margin(t.Judge(rest, span-part))) / part
	}
	return list
}

// spread is the standard deviation of readings, widened for those that resemble their neighbours and never below a floor
// (spreadFloor): three of them may be equal by chance.
func spread(readings []float64, threshold float64) float64 {
	n := float64(len(readings))
	square, lag := deviations(readings)
	variance := square / (n - 1)
	if r := lag / square; n >= 8 && square > 0 && r > 0 {
		r = math.Min(r, 0.8)
		variance *= (1 + r) / (1 - r) // effective number of samples of a first-order autoregressive series
	}
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
	recent = Window{bins: w.bins[k:]}
	return recent, k > 0 && len(recent.bins) >= onsetBins && recent.Span() >= onsetTime-1e-9
}

// Share is what part some of the metrics of the test have of all that it reads, by their places; 0 where all are 0.
func (w *Window) Share(places []int) float64 {
	some, all := 0.0, 0.0
	for _, b := range w.bins {
		for i, v := range b.Values {
			v *= b.width()
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

// Until returns the bins that ended at a time or earlier as a window of their own; enough is false if there are too few to judge by.
func (w *Window) Until(at float64) (before Window, enough bool) {
	k := len(w.bins)
	for k > 0 && w.bins[k-1].End > at+1e-9 {
		k--
	}
	return Window{bins: w.bins[:k:k], same: w.same, yes: w.yes, past: w.past.clone()}, k >= fewestBins
}

// Since returns the bins that began at a time or later as a window of their own.
func (w *Window) Since(at float64) Window {
	k := len(w.bins)
	for k > 0 && w.bins[k-1].Start >= at-1e-9 {
		k--
	}
	return Window{bins: w.bins[k:]}
}
