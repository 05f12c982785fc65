package decide

import "math"

// The sequential test. The readings of a window are its samples; a conclusion is drawn as soon as the
// confidence interval of their mean excludes the threshold. Looking again at every new reading would raise the rate of
// false alarms, so the error that may be spent at the n-th one is errorBudget·2/(n(n-1)), which sums to errorBudget
// over all looks from the third on (an alpha-spending rule; Armitage, McPherson & Rowe 1969 is the reason for one).
// This holds for readings that are independent; for a series that resembles itself the spread is widened. It says when the
// search goes on, not how sure the answer is: see confidence.go.
const (
	errorBudget    = 0.01 // chance of one wrong conclusion, over all looks at one test
	likelyBudget   = 0.1  // likewise, of the answer that an earlier run had: nine of ten have it again, so that as few are wrong
	hysteresis     = 0.05 // of the threshold; Paradyn's PC hysteresisRange
	sufficientTime = 6.0  // s; then the point estimate decides; Paradyn's sufficientTime
	minBins        = 3    // fewer say nothing of their spread
	falseFactor    = 2    // a false answer must have been observed this much longer: nobody looks at it again
	flipTail       = 0.05 // after sufficientTime an answer is changed only if chance explains it this rarely
	fewestBins     = 5    // for the point estimate, and of a window
	maxConfidence  = 0.9999
)

// A Conclusion is the answer of the sequential test. Unless Settled is set nothing is decided yet.
type Conclusion struct {
	Settled    bool
	Holds      bool
	Confidence float64 // 0.5..1
}

// An Answer is what a test said before.
type Answer int

// The answers. None is that of a test which has not been concluded.
const (
	None Answer = iota
	Yes
	No
)

// marginAfter is the margin with the hysteresis: an answer changes only when the value is beyond the threshold by it.
func (e Estimate) marginAfter(before Answer) float64 {
	switch before {
	case Yes:
		return e.Margin + hysteresis*math.Abs(e.Threshold)
	case No:
		return e.Margin - hysteresis*math.Abs(e.Threshold)
	}
	return e.Margin
}

// Conclude applies the sequential test to an estimate of a window. before is the answer so far; minObserve, in seconds,
// is how long a test is observed at least.
func (e Estimate) Conclude(before Answer, minObserve float64) Conclusion {
	span := e.span
	if e.Bins < minBins || span < minObserve-1e-9 {
		return Conclusion{}
	}
	if e.Nothing {
		return Conclusion{Settled: span >= falseFactor*minObserve-1e-9, Confidence: mostSure(e.same, rareTime)}
	}
	margin := e.marginAfter(before)
	c := Conclusion{Holds: margin > 0}
	n := float64(e.Bins)
	tail := studentTail(math.Abs(margin)/e.err, n-1)
	budget := errorBudget
	if e.likely && c.Holds {
		budget = likelyBudget
	}
	spent := budget * 2 / (n * (n - 1))
	patient := c.Holds || span >= falseFactor*minObserve-1e-9
	switch {
	case tail <= spent && patient:
		c.Settled = true
	case span >= sufficientTime-span/float64(2*e.Bins) && e.Bins >= fewestBins && (before == None || tail <= flipTail):
		c.Settled = true
	}
	if c.Settled {
		c.Confidence = e.Sure(c.Holds)
	}
	return c
}

// Confidence is how sure the sign of the margin is: 0.5..1.
func (e Estimate) Confidence() float64 { return e.Sure(e.Margin > 0) }

// SureOf is how sure an answer is that was given before: 0.5..1. Without one it is Confidence.
func (e Estimate) SureOf(before Answer) float64 {
	if before == None {
		return e.Confidence()
	}
	return e.Sure(before == Yes)
}

// Sure is how sure an answer is: 0.5..1. It is 0.5 where the readings say the contrary, or what came before them in which the program did the same.
func (e Estimate) Sure(holds bool) float64 {
	all, each := e.Margin+e.before, rareTime
	if holds {
		each = burstTime
	}
	if holds != (e.Margin > 0) || all*e.Margin <= 0 {
		return 0.5
	}
	return math.Min(e.long.sureness(all), mostSure(e.same, each))
}
