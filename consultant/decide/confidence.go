package decide

import "math"

// How sure an answer is. A conclusion is drawn as soon as the readings so far agree, so that the search goes on; that they agree says less of the program
// than it seems to. What a program does in one moment is much like what it did a moment before: half a second of equal readings may be one burst. So
// the error of a mean is taken from its long-run variance, of which a prior knows more than a few readings do: a value varies by as much as its threshold,
// or by half of itself, and what it is lasts for seconds. Each reading that says otherwise moves the prior. The figures are chosen by simulation
// (TestReliability), so that of the answers that say 90, 95 and 99 % at most 10, 5 and 1 % are wrong, over programs within a tenth of their threshold.
const (
	priorSpread   = 1.0  // s of readings that the prior of the spread counts for; it fades as the square of the time that was seen
	priorFreedom  = 2.5  // degrees of freedom that it has
	priorLikeness = 2.0  // s of readings that the prior of their likeness counts for
	likenessTime  = 1.9  // s in which likeness fades to a third, by the prior
	likenessBound = 2.0  // standard errors by which likeness is overrated
	mostLikeness  = 0.95 // of neighbours
	manyLooks     = 2.0  // times: an answer is looked at until it is clear, and the odds that it is wrong are greater then than they seem
	rareTime      = 0.8  // s of readings that speak once against what is rare
	burstTime     = 0.2  // s of readings that speak once against a burst
)

// A longRun is what the mean of some readings says of a program in the long run.
type longRun struct {
	err     float64 // standard error of the mean
	freedom float64 // degrees of freedom of err
}

// longRunOf looks at readings that last for a time, in s. By the prior they vary by as much as scale.
func longRunOf(readings []float64, span, scale float64) longRun {
	n := float64(len(readings))
	width := span / n
	square, lag := deviations(readings)
	weight := math.Max(1, priorSpread/width)
	prior := weight * math.Pow(scale*math.Min(1, priorSpread/span), 2)
	variance := (prior + square) / (weight + n - 1)
	r := likeness(n, width, square, lag)
	effective := math.Max(1, n*(1-r)/(1+r)) // of a first-order autoregressive series
	return longRun{err: math.Sqrt(variance / effective), freedom: effective - 1 + priorFreedom}
}

// likeness is how much neighbours resemble each other, 0..1, rather too much than too little.
func likeness(n, width, square, lag float64) float64 {
	prior, weight := math.Exp(-width/likenessTime), math.Max(1, priorLikeness/width)
	r := prior
	if n >= 5 && square > 0 {
		r = math.Min(math.Max((lag/square*n+1)/(n-3), 0), 1) // a short series looks less alike than it is
	}
	r = (weight*prior + n*r) / (weight + n)
	r += likenessBound * math.Sqrt((1-r*r)/(weight+n))
	return math.Min(r, mostLikeness)
}

// deviations are the sum of the squares of what readings differ from their mean, and that of the products of neighbours.
func deviations(readings []float64) (square, lag float64) {
	mean := 0.0
	for _, v := range readings {
		mean += v / float64(len(readings))
	}
	for k, v := range readings {
		square += (v - mean) * (v - mean)
		if k > 0 {
			lag += (v - mean) * (readings[k-1] - mean)
		}
	}
	return square, lag
}

// sureness is the chance that a margin has the sign that it seems to have, 0.5..maxConfidence.
func (l longRun) sureness(margin float64) float64 {
	if !(l.err > 0) {
		return 0.5
	}
	tail := studentTail(math.Abs(margin)/l.err, l.freedom)
	return math.Min(math.Max(0.5, (1-tail)/(1-tail+manyLooks*tail)), maxConfidence)
}

// mostSure is how sure an answer can be at most that has been the same for a time, in s, with a trial each so many s. What is rare and lasts for seconds leaves no
// trace before it comes, and a burst that has lasted for all of the time none of its end, however equal the readings are. By Laplace's rule of succession the
// chance that something comes after n trials without it is 1/(n+2).
func mostSure(span, each float64) float64 { return 1 - 1/(2+span/each) }
