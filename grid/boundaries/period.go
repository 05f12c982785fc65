package boundaries

import (
	"math"
	"slices"
)

const (
	repeats    = 3    // how often something has come back before it is called a period
	mostKinds  = 8    // boundaries in a period
	sameLength = 0.2  // by what part of itself a period may vary
	sameLevel  = 0.15 // by how much the means may vary from one period to the next
)

// Period is the length in bins of what repeats: a program that iterates goes through the same boundaries again and again, and each is no
// new behaviour. ok is false where the boundaries, in the order of time, do not repeat three times.
func Period(list []Boundary) (bins float64, ok bool) {
	for kinds := 2; kinds <= mostKinds && repeats*kinds <= len(list); kinds++ {
		if bins, ok = periodOf(list, kinds); ok {
			return bins, true
		}
	}
	return 0, false
}

// periodOf is the length of a period that has as many boundaries; ok is false if one does not come back at its time and with its change.
func periodOf(list []Boundary, kinds int) (bins float64, ok bool) {
	var lengths []float64
	for i, b := range list[kinds:] {
		a := list[i]
		if a.Curve != b.Curve || math.Abs(a.Before-b.Before) > sameLevel || math.Abs(a.After-b.After) > sameLevel {
			return 0, false
		}
		lengths = append(lengths, float64(b.Bin-a.Bin))
	}
	slices.Sort(lengths)
	bins = lengths[len(lengths)/2]
	return bins, max(bins-lengths[0], lengths[len(lengths)-1]-bins) <= sameLength*bins
}
