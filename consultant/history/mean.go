package history

import "math"

// fewest is how many samples tell how much they vary.
const fewest = 5

// Overall is the average of all samples and its standard error, in the unit of the samples; ok is false where there are too few. Neighbours of a
// series resemble each other: the error takes in their covariances up to the first lag at which they do not (the initial positive sequence,
// Geyer, Practical Markov Chain Monte Carlo, 1992, section 3.3).
func (h *History) Overall() (mean, err float64, ok bool) {
	n := len(h.samples)
	if n < fewest {
		return 0, 0, false
	}
	for _, s := range h.samples {
		mean += s.Value / float64(n)
	}
	variance := h.covariance(0, mean)
	for lag := 1; lag <= n/3; lag++ {
		c := h.covariance(lag, mean)
		if c <= 0 {
			break
		}
		variance += 2 * c
	}
	return mean, math.Sqrt(variance / float64(n-1)), true
}

// covariance is that of samples and those that come a number of samples later.
func (h *History) covariance(lag int, mean float64) (c float64) {
	n := len(h.samples)
	for i := lag; i < n; i++ {
		c += (h.samples[i].Value - mean) * (h.samples[i-lag].Value - mean) / float64(n)
	}
	return c
}
