package grid

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// slowBucket finds the bucket of a value by comparing edges that are counted up from 0.
func slowBucket(v int64) int {
	if v < 0 {
		return -1
	}
	low, width := uint64(0), uint64(1)
	for i := 0; ; i++ {
		if i >= 8 && i%4 == 0 {
			width *= 2
		}
		if uint64(v) < low+width {
			return i
		}
		low += width
	}
}

func anyValue(r *rand.Rand) int64 { return r.Int64() >> r.IntN(64) }

func TestBucketOf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	values := []int64{0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 15, 16, 19, 20, math.MaxInt64, math.MaxInt64 - 1}
	for i := range 62 {
		values = append(values, 1<<i, 1<<i-1, 1<<i+1)
	}
	for range 20_000 {
		values = append(values, anyValue(r))
	}
	for _, v := range values {
		i := BucketOf(v)
		if want := slowBucket(v); i != want {
			t.Fatalf("BucketOf(%d) = %d, counting up gives %d", v, i, want)
		}
		low, high := BucketEdges(i)
		if float64(v) < low || float64(v) > high || v < 1<<52 && float64(v) == high {
			t.Fatalf("%d is in bucket %d, which is from %g to %g", v, i, low, high)
		}
		if i >= 8 && high > BucketRatio*low {
			t.Fatalf("bucket %d is from %g to %g, more than %g times as much", i, low, high, BucketRatio)
		}
	}
	for _, v := range []int64{-1, -2, -1000, math.MinInt64, math.MinInt64 + 1} {
		if i := BucketOf(v); i < firstBelow || i >= DistributionBuckets {
			t.Errorf("BucketOf(%d) = %d, want one of those below 0", v, i)
		}
	}
}

// of is the distribution of values.
func of(values []int64, step float64) *Distribution {
	d := &Distribution{Step: step}
	for _, v := range values {
		d.Counts[BucketOf(v)]++
		d.Sum += float64(v) * step
	}
	return d
}

// TestQuantileError compares quantiles with those of the values themselves, sorted.
func TestQuantileError(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	worst, compared := 0.0, 0
	for range 500 {
		shift := r.IntN(60)
		values := make([]int64, 1+r.IntN(400))
		for i := range values {
			values[i] = r.Int64() >> shift
		}
		step := math.Exp(r.Float64()*20 - 10)
		d := of(values, step)
		slices.Sort(values)
		for _, q := range []float64{0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1, r.Float64()} {
			exact := float64(values[max(1, int(math.Ceil(q*float64(len(values))-1e-9)))-1]) * step
			got := d.Quantile(q)
			if exact != 0 {
				worst = max(worst, math.Abs(got-exact)/exact)
			}
			if math.Abs(got-exact) > 0.125*exact*(1+1e-9) {
				t.Fatalf("quantile %g of %d values: %g, exact %g", q, len(values), got, exact)
			}
			compared++
		}
		if top := float64(values[len(values)-1]) * step; d.Max() < top*(1-1e-9) || d.Max() > BucketRatio*top*(1+1e-9) {
			t.Fatalf("max %g, exact %g", d.Max(), top)
		}
	}
	t.Logf("%d quantiles; the worst is %.2f %% off", compared, 100*worst)
	if worst < 0.05 {
		t.Errorf("the worst error is only %g: the values are too tame to test the bound", worst)
	}
}

func TestQuantileEdges(t *testing.T) {
	var empty Distribution
	if !math.IsNaN(empty.Quantile(0.5)) || !math.IsNaN(empty.Max()) || !math.IsNaN(empty.Mean()) || empty.Count() != 0 || empty.Buckets() != nil {
		t.Error("an empty distribution has values")
	}
	d := of([]int64{-5, 1, 2, 3}, 1)
	for _, q := range []float64{-0.1, 1.1, math.NaN()} {
		if v := d.Quantile(q); !math.IsNaN(v) {
			t.Errorf("quantile %g = %g", q, v)
		}
	}
	for q, want := range map[float64]float64{0: math.Inf(-1), 0.25: math.Inf(-1), 0.26: 1, 0.5: 1, 0.75: 2, 0.76: 3, 1: 3} {
		if got := d.Quantile(q); got != want {
			t.Errorf("quantile %g = %g, want %g", q, got, want)
		}
	}
	if d.Below() != 1 || d.Count() != 4 || d.Mean() != 0.25 || d.Max() != 3 {
		t.Errorf("below %d, count %d, mean %g, max %g", d.Below(), d.Count(), d.Mean(), d.Max())
	}
	if got, want := d.Buckets(), []Bucket{{math.Inf(-1), 0, 1}, {1, 2, 1}, {2, 3, 1}, {3, 4, 1}}; !slices.Equal(got, want) {
		t.Errorf("buckets %v, want %v", got, want)
	}
	if got := of([]int64{-1}, 1).Max(); !math.IsInf(got, -1) {
		t.Errorf("the largest of values below 0: %g", got)
	}
}

// TestMerge: merging is associative and commutative, taking out undoes it, and nothing is lost where steps differ.
func TestMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	random := func(step float64) *Distribution {
		var values []int64
		for range r.IntN(50) {
			values = append(values, anyValue(r)>>20-5)
		}
		d := of(values, step)
		d.Sum = float64(r.IntN(1000)) // whole numbers: their sums are exact
		return d
	}
	sum := func(list ...*Distribution) *Distribution {
		var d Distribution
		for _, o := range list {
			d.Add(o)
		}
		return &d
	}
	for range 300 {
		a, b, c := random(1), random(1), random(1)
		left, right := sum(sum(a, b), c), sum(a, sum(b, c))
		if *left != *right || *left != *sum(c, a, b) {
			t.Fatal("the order of merging makes a difference")
		}
		left.Sub(c)
		if *left != *sum(a, b) {
			t.Fatal("what was merged is not taken out again")
		}
		fine := random(1e-3)
		if got, want := sum(a, fine).Count(), a.Count()+fine.Count(); got != want {
			t.Fatalf("merging other steps: %d values of %d", got, want)
		}
	}
	slow, fast := of([]int64{1000}, 1e-6), of([]int64{1}, 1e-3)
	slow.Add(fast)
	if got := slow.Quantile(0); math.Abs(got-1e-3) > 0.125e-3 || slow.Quantile(1) != got {
		t.Errorf("a value of 1e-3 merged with another step is told as %g and %g", got, slow.Quantile(1))
	}
}

func FuzzDistribution(f *testing.F) {
	f.Add(int64(1), 1.0, int64(-1), 0.5, 0.5)
	f.Fuzz(func(t *testing.T, a int64, stepA float64, b int64, stepB float64, q float64) {
		if !(stepA > 1e-12 && stepA < 1e12 && stepB > 1e-12 && stepB < 1e12) {
			return
		}
		d := of([]int64{a, a}, stepA)
		d.Add(of([]int64{b}, stepB))
		if d.Count() != 3 {
			t.Fatalf("%d values, want 3", d.Count())
		}
		if v := d.Quantile(q); math.IsNaN(v) == (q >= 0 && q <= 1) {
			t.Fatalf("quantile %g = %g", q, v)
		}
		for _, bk := range d.Buckets() {
			if !(bk.Low < bk.High) || bk.Count == 0 {
				t.Fatalf("bucket %+v", bk)
			}
		}
	})
}
