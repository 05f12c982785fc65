package decide

import "math"

// What is too expensive to measure is judged by its share of the stack samples. It is not known how many samples a share
// was taken from, so it is trusted like a share of shareSamples, and the confidence is bounded.
const (
	// ShareReadings is how many readings of a share a conclusion needs that is sure, and MostShares after how many the value decides.
	ShareReadings   = 5
	MostShares      = 2 * ShareReadings
	shareSure       = 0.75 // of a conclusion before
	shareSamples    = 50
	shareConfidence = 0.9 // at most
)

// FromShares estimates the value at a focus by the shares of stack samples that it has of a focus with a measured value. Each reading has
// the shares, 0..1, of one or several kinds of samples. follows says for each metric of the test by which of them it is estimated; -1 if it is
// the same at both foci.
func FromShares(t *Test, whole Estimate, follows []int, readings [][]float64) Estimate {
	means := meansOf(readings)
	e := Estimate{Bins: len(readings), averages: whole.scaled(follows, means), Whole: whole.Whole, Share: whole.Share}
	e.Value, e.Threshold = t.Judge(e.averages, 1)
	e.Used = t.Used(e.averages, 1)
	e.Margin, e.Stake = t.beyond(e.Value, e.Threshold), t.Stake(e.averages, 1)
	e.err = shareError(t, whole, follows, means) + 1e-12
	return e
}

// meansOf are the means of the readings of each share.
func meansOf(readings [][]float64) []float64 {
	means := make([]float64, len(readings[0]))
	for _, r := range readings {
		for k, v := range r {
			means[k] += v / float64(len(readings))
		}
	}
	return means
}

// scaled are the averages with each a share of what it was.
func (e Estimate) scaled(follows []int, shares []float64) []float64 {
	out := make([]float64, len(e.averages))
	for i, v := range e.averages {
		if out[i] = v; follows[i] >= 0 {
			out[i] = v * shares[follows[i]]
		}
	}
	return out
}

// shareError is the standard error of the margin, of shares that are independent of each other. Those of a ratio are not, so that theirs is
// overrated.
func shareError(t *Test, whole Estimate, follows []int, means []float64) float64 {
	// Laplace's rule keeps the error of a share of none or all above zero.
	p := make([]float64, len(means))
	for k, v := range means {
		p[k] = (v*shareSamples + 1) / (shareSamples + 2)
	}
	square := 0.0
	for k, v := range p {
		spread := math.Sqrt(v * (1 - v) / shareSamples)
		margin := func(off float64) float64 {
			p[k] = v + off
			return t.Margin(t.Judge(whole.scaled(follows, p), 1))
		}
		d := margin(spread/2) - margin(-spread/2)
		p[k] = v
		square += d * d
	}
	return math.Sqrt(square)
}

// ConcludeShares answers a test from an estimate of FromShares. before is the answer so far: it is changed only for one that is sure.
func (e Estimate) ConcludeShares(before Answer) Conclusion {
	if e.Bins < ShareReadings {
		return Conclusion{}
	}
	c := math.Min(1-studentTail(math.Abs(e.Margin)/e.err, shareSamples-1), shareConfidence)
	holds := e.marginAfter(before) > 0
	if c < shareSure && (before == None && e.Bins < MostShares || before != None && holds != (before == Yes)) {
		return Conclusion{}
	}
	return Conclusion{Settled: true, Holds: holds, Confidence: c}
}
