package grid

import (
	"math"
	"math/bits"
)

// The shape of a Distribution: four buckets to each power of two, the whole range of 64-bit integers.
const (
	// DistributionBuckets is the number of buckets. Those from firstBelow on hold the values below 0.
	DistributionBuckets = 252
	// BucketRatio bounds the upper edge of a bucket that holds more than one integer by this multiple of its lower edge.
	BucketRatio = 1.25

	perDoubling = 4
	firstBelow  = DistributionBuckets - perDoubling
)

// BucketOf is the bucket of an integer: 0 to 7 have one each, from 8 on there are four to each power of two.
func BucketOf(v int64) int {
	u := uint64(v)
	shift := bits.Len64(u|perDoubling) - 3
	return int(u>>shift) + perDoubling*shift
}

// BucketEdges are the least integer of a bucket for values from 0 on and the least that is beyond it. The index must be below
// DistributionBuckets-4.
func BucketEdges(i int) (low, high float64) {
	if i < 0 || i >= firstBelow {
		panic("BUG: no such bucket")
	}
	return bucketLow(i), bucketLow(i + 1)
}

func bucketLow(i int) float64 {
	if i < perDoubling {
		return float64(i)
	}
	return math.Ldexp(float64(perDoubling+i%perDoubling), i/perDoubling-1)
}

// A Distribution counts values by size. The bucket of a value is exact; what is told of a value inside its bucket is off by
// at most 12.5 % of it (see Quantile), values of 7 steps and less not at all. It is comparable and copied by assignment; the
// zero value is empty. It has no lock.
type Distribution struct {
	Counts [DistributionBuckets]uint64 // by BucketOf the value in steps
	// Sum of all values in the metric's unit, exact as far as a float64 is.
	Sum float64
	// Step is what 1 in a cell of the target is in the metric's unit: 1e-9 for a clock of nanoseconds that is told in seconds;
	// 0 as long as there are no values.
	Step float64
}

// sameStep is how far apart two steps may be that are the same: a clock is calibrated better while it is used.
const sameStep = 1e-3

// Add merges the values of another distribution into this one. Where steps are the same (within 0.1 %) the counts are added
// and merging is associative. Else each bucket of the other goes to where its middle belongs.
func (d *Distribution) Add(o *Distribution) {
	switch {
	case o.Step == 0:
		return
	case d.Step == 0:
		d.Step = o.Step
	}
	d.Sum += o.Sum
	same := math.Abs(d.Step-o.Step) <= sameStep*d.Step
	for i, n := range o.Counts {
		if n == 0 {
			continue
		}
		if !same && i < firstBelow {
			i = BucketOf(int64(min(bucketMiddle(i)*o.Step/d.Step, math.MaxInt64/2)))
		}
		d.Counts[i] += n
	}
}

// Sub takes out what an earlier state of the same distribution held: what is left are the values since. A count that would be
// negative becomes 0.
func (d *Distribution) Sub(earlier *Distribution) {
	d.Sum -= earlier.Sum
	for i, n := range earlier.Counts {
		d.Counts[i] -= min(n, d.Counts[i])
	}
}

// Count is the number of values.
func (d *Distribution) Count() (n uint64) {
	for _, c := range d.Counts {
		n += c
	}
	return n
}

// Below is how many of the values are below 0. They are counted, and are smaller than all others; how small is not known.
func (d *Distribution) Below() (n uint64) {
	for _, c := range d.Counts[firstBelow:] {
		n += c
	}
	return n
}

// Mean is Sum over Count, NaN if there are no values.
func (d *Distribution) Mean() float64 {
	if n := d.Count(); n > 0 {
		return d.Sum / float64(n)
	}
	return math.NaN()
}

// Quantile is the value, in the metric's unit, that a share q of all values is not above: of n values in order that with the
// number ceil(q*n), counted from 1, and the least for q=0. It is the middle of that value's bucket, so at most 12.5 % away from
// it. NaN if there are no values or q is not from 0 to 1, -Inf where the value is below 0.
func (d *Distribution) Quantile(q float64) float64 {
	n := d.Count()
	if n == 0 || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	rank := max(1, rankOf(q, n))
	seen := d.Below()
	if rank <= seen {
		return math.Inf(-1)
	}
	for i, c := range d.Counts[:firstBelow] {
		if seen += c; rank <= seen {
			return bucketMiddle(i) * d.Step
		}
	}
	panic("BUG: the buckets hold fewer values than were counted")
}

// rankOf is ceil(q*n). The product is rounded by less than one in 2^52; what is a whole number but for that is that number.
func rankOf(q float64, n uint64) uint64 {
	x := q * float64(n)
	return min(n, uint64(math.Ceil(x-x*1e-12)))
}

// Max is what no value is above, in the metric's unit: the largest integer of the last bucket that holds any. NaN if there are
// no values, -Inf if all are below 0.
func (d *Distribution) Max() float64 {
	for i := firstBelow - 1; i >= 0; i-- {
		if d.Counts[i] > 0 {
			return (bucketLow(i+1) - 1) * d.Step
		}
	}
	if d.Below() > 0 {
		return math.Inf(-1)
	}
	return math.NaN()
}

// bucketMiddle is the middle of the integers of a bucket.
func bucketMiddle(i int) float64 { return (bucketLow(i) + bucketLow(i+1) - 1) / 2 }

// A Bucket is a range of values, from Low to below High in the metric's unit, with how many there were.
type Bucket struct {
	Low, High float64
	Count     uint64
}

// Buckets lists the buckets that hold values, in order. Values below 0 are one bucket from -Inf to 0.
func (d *Distribution) Buckets() []Bucket {
	var list []Bucket
	if n := d.Below(); n > 0 {
		list = append(list, Bucket{math.Inf(-1), 0, n})
	}
	for i, n := range d.Counts[:firstBelow] {
		if n > 0 {
			low, high := BucketEdges(i)
			list = append(list, Bucket{low * d.Step, high * d.Step, n})
		}
	}
	return list
}
