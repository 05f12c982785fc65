package boundaries

import "math"

// half is how many bins to either side of its middle the smoothing window has: nine in all, as IPS-2 found best.
const half = 4

// known tells whether a value is one.
func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// smooth is the average over the window, the middle weighted most and the edges least; NaN where less than half of the weights are known.
func (c Curve) smooth() Curve {
	out := make(Curve, len(c))
	for i := range c {
		sum, weights := 0.0, 0.0
		for d := -half; d <= half; d++ {
			w := float64(half + 1 - max(d, -d))
			if j := i + d; j >= 0 && j < len(c) && known(c[j]) {
				sum, weights = sum+w*c[j], weights+w
			}
		}
		if out[i] = sum / weights; 2*weights < (half+1)*(half+1) {
			out[i] = math.NaN()
		}
	}
	return out
}

// steps is for each bin the height of the step that it is part of: from the minimum or maximum before it to the next one.
func (c Curve) steps() []float64 {
	out := make([]float64, len(c))
	for i := 1; i < len(c); {
		from, up := i-1, c[i] > c[i-1]
		for i < len(c) && c[i] != c[i-1] && (c[i] > c[i-1]) == up && known(c[i]-c[i-1]) {
			i++
		}
		for j := from + 1; j < i; j++ {
			out[j] = math.Abs(c[i-1] - c[from])
		}
		if i == from+1 { // neither up nor down
			i++
		}
	}
	return out
}

// aggregate is the sum of the boundary curves: for each bin how likely something else begins there.
func aggregate(curves []Curve) []float64 {
	var sum []float64
	for _, c := range curves {
		for len(sum) < len(c) {
			sum = append(sum, 0)
		}
		s := c.smooth()
		for i, h := range s.steps() {
			if h > 0 {
				sum[i] += h * math.Abs(s[i]-s[i-1])
			}
		}
	}
	return sum
}

// A part is what is known of a curve in a span.
type part struct {
	from, to int
	n        int // bins that are known
	mean     float64
	squares  float64 // the sum of the squares of the distances from the mean
}

func (c Curve) part(from, to int) part {
	p := part{from: from, to: min(to, len(c))}
	for i := from; i < p.to; i++ {
		if v := c[i]; known(v) {
			p.n++
			d := v - p.mean
			p.mean += d / float64(p.n)
			p.squares += d * (v - p.mean)
		}
	}
	return p
}

// standardError is that of the difference of the means of two parts of a curve. Neighbouring values depend on one another: their
// correlation makes it larger. What is too regular to show noise has a little of it.
func standardError(c Curve, a, b part) float64 {
	n := float64(a.n + b.n)
	together := 0.0
	for _, p := range []part{a, b} {
		for i := p.from + 1; i < p.to; i++ {
			if x := (c[i] - p.mean) * (c[i-1] - p.mean); known(x) {
				together += x
			}
		}
	}
	variance := (a.squares+b.squares)/max(n-2, 1) + leastNoise*leastNoise
	r := 0.0
	if all := a.squares + b.squares; all > 0 {
		r = together / all
	}
	r = min(max(r+(1+4*r)/n, 0), mostCorrelated) // few values look less correlated than they are
	return math.Sqrt(variance * (1 + r) / (1 - r) * (1/float64(a.n) + 1/float64(b.n)))
}

const (
	leastNoise     = 0.01 // of what a metric can be at most
	mostCorrelated = 0.98
)
