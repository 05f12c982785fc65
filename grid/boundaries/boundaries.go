// Package boundaries finds out when a program began to behave otherwise, from what metrics said over time: the Phase Behavior Analysis
// of IPS-2 (Miller et al. 1990, section V.B), with a threshold that sets itself.
//
// Of each curve the boundary curve is made: the slope of the smoothed values, times the height of the step that they are part of. The peaks
// of the sum over all curves are where a boundary may be. Of these stay those at which a metric really changes: by a least step, and by more
// than its noise explains.
//
// It is pure: no clock, no lock.
package boundaries

import (
	"math"
	"slices"
)

// A Curve is one metric over time: a value for each bin, as a share of what the metric can be at most; NaN where it is not known.
type Curve []float64

// A Boundary is between two bins.
type Boundary struct {
	Bin    int     // the first one of what came after
	Curve  int     // the index of the curve that changed most, against its noise
	Before float64 // its mean from the boundary before
	After  float64 // its mean up to the next one
}

// Limits say what is told. The zero value tells everything that noise does not explain.
type Limits struct {
	Least int     // bins that a phase has at least
	Step  float64 // by how much a metric changes at least
}

// certain is how many standard errors two means must lie apart. Boundaries are looked for at every bin, in every curve and again
// every second: with 6 noise alone makes one in some hours.
const certain = 6.0

// Find returns the boundaries in curves whose bins are the same times, in the order of time. Curves may differ in length: what is missing
// at the end is not known.
func Find(curves []Curve, l Limits) []Boundary {
	f := finder{curves: curves, least: max(l.Least, 2), step: l.Step}
	for _, c := range curves {
		f.bins = max(f.bins, len(c))
	}
	f.at = candidates(aggregate(curves), f.least)
	f.thin()
	for i := range f.at {
		f.at[i] = f.moved(i)
	}
	f.thin()
	list := make([]Boundary, len(f.at))
	for i, c := range f.changes {
		list[i] = Boundary{Bin: f.at[i], Curve: c.curve, Before: c.before, After: c.after}
	}
	return list
}

// A finder holds the boundaries that are left.
type finder struct {
	curves  []Curve
	least   int
	step    float64
	bins    int // of the longest curve
	at      []int
	changes []change // what happens at each of them
}

// thin takes away the weakest boundary, and again, until all that are left are certain.
func (f *finder) thin() {
	f.changes = make([]change, len(f.at))
	for i := range f.at {
		f.changes[i] = f.strongest(i)
	}
	for len(f.at) > 0 {
		weakest := 0
		for i, c := range f.changes {
			if c.errors < f.changes[weakest].errors {
				weakest = i
			}
		}
		if f.changes[weakest].errors >= certain {
			return
		}
		f.at, f.changes = slices.Delete(f.at, weakest, weakest+1), slices.Delete(f.changes, weakest, weakest+1)
		for i := max(weakest-1, 0); i <= weakest && i < len(f.at); i++ {
			f.changes[i] = f.strongest(i)
		}
	}
}

// around is from the boundary before the i-th to the one behind it; the last bin is not in it.
func (f *finder) around(i int) (from, to int) {
	to = f.bins
	if i > 0 {
		from = f.at[i-1]
	}
	if i+1 < len(f.at) {
		to = f.at[i+1]
	}
	return from, to
}

// moved is where the i-th boundary fits best: smoothing blurs it by half a window.
func (f *finder) moved(i int) int {
	from, to := f.around(i)
	best, least := f.at[i], math.Inf(1)
	for b := max(f.at[i]-half, from+f.least); b <= min(f.at[i]+half, to-f.least); b++ {
		sum := 0.0
		for _, c := range f.curves {
			sum += c.part(from, b).squares + c.part(b, to).squares
		}
		if sum < least {
			best, least = b, sum
		}
	}
	return best
}

// A change is what one curve does at a boundary.
type change struct {
	curve         int
	before, after float64
	errors        float64 // by how many standard errors the means lie apart
}

// strongest is what the curve does at the i-th boundary that changes most against its noise, of those that change by a step at least; none does if
// errors is 0.
func (f *finder) strongest(i int) (most change) {
	from, to := f.around(i)
	for j, c := range f.curves {
		a, b := c.part(from, f.at[i]), c.part(f.at[i], to)
		if a.n < 2 || b.n < 2 || math.Abs(a.mean-b.mean) < f.step {
			continue
		}
		if e := math.Abs(a.mean-b.mean) / standardError(c, a, b); e > most.errors {
			most = change{curve: j, before: a.mean, after: b.mean, errors: e}
		}
	}
	return most
}

// candidates are the peaks of a boundary curve, the highest first as long as they have room beside each other; in the order of time.
func candidates(curve []float64, least int) []int {
	var peaks []int
	for i, b := range curve {
		if b > 0 && (i == 0 || b >= curve[i-1]) && (i+1 == len(curve) || b > curve[i+1]) {
			peaks = append(peaks, i)
		}
	}
	slices.SortStableFunc(peaks, func(a, b int) int {
		switch {
		case curve[a] > curve[b]:
			return -1
		case curve[a] < curve[b]:
			return 1
		}
		return 0
	})
	var kept []int
	for _, p := range peaks {
		near := func(k int) bool { return max(k-p, p-k) < least }
		if p >= least && p+least <= len(curve) && !slices.ContainsFunc(kept, near) {
			kept = append(kept, p)
		}
	}
	slices.Sort(kept)
	return kept
}
