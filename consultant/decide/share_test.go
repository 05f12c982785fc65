package decide

import (
	"math"
	"testing"
)

type averages = func(metric string) float64

// steady is the estimate of a test of which every bin has the same values.
func steady(t *Test, values ...float64) Estimate {
	var w Window
	for i := range 6 {
		w.Add(Bin{Start: float64(i), End: float64(i + 1), Values: values})
	}
	return w.Estimate(t)
}

func repeated(shares ...float64) (readings [][]float64) {
	for range ShareReadings {
		readings = append(readings, shares)
	}
	return readings
}

// TestSharesOfASum: a part of a sum has its share of the value and of the stake, and is as uncertain as a share.
func TestSharesOfASum(t *testing.T) {
	h := NewTest([]string{"cpu", "threads"}, []string{"threads"}, true,
		func(get averages) float64 { return get("cpu") / get("threads") }, limit(0.3)).
		Staking(func(get averages) float64 { return get("cpu") / get("threads") / 2 })
	whole := steady(h, 1.6, 2)
	e := FromShares(h, whole, []int{0, -1}, repeated(0.5))
	if math.Abs(e.Value-0.4) > 1e-9 || math.Abs(e.Stake-0.2) > 1e-9 || e.Threshold != 0.3 || math.Abs(e.Margin-0.1) > 1e-9 {
		t.Errorf("%+v", e)
	}
	if want := 0.8 * math.Sqrt(0.25/shareSamples); math.Abs(e.err-want) > 1e-6 {
		t.Errorf("standard error %v, want %v", e.err, want)
	}
	if c := e.ConcludeShares(None); !c.Settled || !c.Holds || c.Confidence > shareConfidence {
		t.Errorf("%+v", c)
	}
	if c := FromShares(h, whole, []int{0, -1}, repeated(0.5)[1:]).ConcludeShares(None); c.Settled {
		t.Errorf("concluded from too few readings: %+v", c)
	}
	none := FromShares(h, whole, []int{0, -1}, repeated(0))
	if c := none.ConcludeShares(None); none.Value != 0 || none.err < 0.01 || c.Holds || c.Confidence < 0.89 {
		t.Errorf("%+v %+v", none, c)
	}
}

// TestSharesOfARatio: of a ratio each side has a share of its own. A part may have a larger ratio than the whole, and what few samples saw
// is uncertain.
func TestSharesOfARatio(t *testing.T) {
	h := NewTest([]string{"system", "cpu"}, nil, true,
		func(get averages) float64 { return ratio(get("system"), get("cpu")) }, limit(0.5)).
		Staking(func(get averages) float64 { return get("system") })
	whole := steady(h, 0.6, 1)
	for _, c := range []struct {
		system, cpu  float64
		value, stake float64
		holds        bool
		least, most  float64 // confidence
	}{
		{0.9, 0.6, 0.9, 0.54, true, 0.9, 0.9},
		{1, 1, 0.6, 0.6, true, 0.9, 0.9},
		{0.1, 0.4, 0.15, 0.06, false, 0.9, 0.9},
		{0.02, 0.02, 0.6, 0.012, true, 0.5, 0.7},
		{0, 0.02, 0, 0, false, 0.5, 0.9},
	} {
		few := repeated(c.system, c.cpu)
		e := FromShares(h, whole, []int{0, 1}, append(few, few...))
		got := e.ConcludeShares(None)
		if early := FromShares(h, whole, []int{0, 1}, few).ConcludeShares(None); early.Settled != (got.Confidence >= shareSure) {
			t.Errorf("%v of %v, which is %.2f sure, is concluded after few readings: %v", c.system, c.cpu, got.Confidence, early.Settled)
		}
		if now := e.ConcludeShares(No); got.Holds && now.Settled != (got.Confidence >= shareSure) {
			t.Errorf("%v of %v, which is %.2f sure: the answer is changed: %v", c.system, c.cpu, got.Confidence, now.Settled)
		}
		if math.Abs(e.Value-c.value) > 1e-9 || math.Abs(e.Stake-c.stake) > 1e-9 || got.Holds != c.holds {
			t.Errorf("%v of %v: %+v %+v", c.system, c.cpu, e, got)
		}
		if got.Confidence < c.least-1e-9 || got.Confidence > c.most+1e-9 {
			t.Errorf("%v of %v: confidence %v, want %v to %v", c.system, c.cpu, got.Confidence, c.least, c.most)
		}
	}
}
