package decide

import "math"

// What is too expensive to measure is judged by its share of the stack samples. It is not known how many samples a share
// was taken from, so it is trusted like a share of shareSamples, and the confidence is bounded.
const (
	// ShareReadings is how many readings of a share a conclusion needs.
	ShareReadings   = 5
	shareSamples    = 50
	shareConfidence = 0.9 // at most
)

// FromShares estimates the value at a focus by the share of stack samples that it has of a focus with a measured value.
// Each element of shares is one reading, 0..1.
func FromShares(t *Test, whole Estimate, shares []float64) Estimate {
	mean := 0.0
	for _, v := range shares {
		mean += v / float64(len(shares))
	}
	value, threshold := whole.Value*mean, whole.Threshold
	e := Estimate{Bins: len(shares), Value: value, Threshold: threshold, Margin: t.beyond(value, threshold), Stake: whole.Stake * mean, Whole: whole.Whole}
	// Laplace's rule keeps the error of a share of none or all above zero.
	p := (mean*shareSamples + 1) / (shareSamples + 2)
	e.err = math.Abs(whole.Value)*math.Sqrt(p*(1-p)/shareSamples) + 1e-12
	return e
}

// ConcludeShares answers a test from an estimate of FromShares. before is the answer so far.
func (e Estimate) ConcludeShares(before Answer) Conclusion {
	if e.Bins < ShareReadings {
		return Conclusion{}
	}
	c := math.Min(1-studentTail(math.Abs(e.Margin)/e.err, shareSamples-1), shareConfidence)
	return Conclusion{Settled: true, Holds: e.marginAfter(before) > 0, Confidence: c}
}
