package history

import "math"

// fewest is how many samples tell how much they vary.
const fewest = 5

// Overall is the average of samples and its standard error, in their unit; ok is false where there are too few. It may take a millisecond. Neighbours of a
// series resemble each other: the error takes in their covariances up to the first lag at which they do not (the initial positive sequence,
// Geyer, Practical Markov Chain Monte Carlo, 1992, section 3.3).
func Overall(samples []Sample) (mean, err float64, ok bool) {
	n := len(samples)
	if n < fewest {
		return 0, 0, false
	}
	for _, s := range samples {
		mean += s.Value / float64(n)
	}
	variance := covariance(samples, 0, mean)
	for lag := 1; lag <= n/3; lag++ {
		c := covariance(samples, lag, mean)
		if c <= 0 {
			break
		}
		variance += 2 * c
	}
	return mean, math.Sqrt(variance / float64(n-1)), true
}

// covariance is that of samples and those that come a number of samples later.
func covariance(samples []Sample, lag int, mean float64) (c float64) {
	n := len(samples)
	for i := lag; i < n; i++ {
		c += (samples[i].Value - mean) * (samples[i-lag].Value - mean) / float64(n)
	}
	return c
}
