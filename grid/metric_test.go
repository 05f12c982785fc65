package grid

import (
	"math"
	"testing"
)

func TestCombine(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		a    Aggregate
		in   []float64
		want float64
	}{
		{Sum, []float64{1, 2, nan, 4}, 7},
		{Avg, []float64{1, nan, 3}, 2},
		{Min, []float64{nan, 3, -1, 2}, -1},
		{Max, []float64{-3, nan, -1}, -1},
		{Sum, []float64{nan}, nan},
		{Avg, nil, nan},
	}
	for _, tt := range tests {
		if got := tt.a.Combine(tt.in); !same(got, tt.want) {
			t.Errorf("%v of %v = %v, want %v", tt.a, tt.in, got, tt.want)
		}
	}
}

func TestMetricUnits(t *testing.T) {
	tests := []struct {
		m         Metric
		rate, sum string
	}{
		{Metric{Units: "calls", UnitsType: Unnormalized}, "calls/s", "calls"},
		{Metric{Units: "calls/s", UnitsType: Unnormalized}, "calls/s", "calls"},
		{Metric{Units: "CPUs", UnitsType: Normalized}, "CPUs", "CPU s"},
		{Metric{Units: "s/s", UnitsType: Normalized}, "s/s", "s"},
		{Metric{Units: "threads", UnitsType: Sampled, Style: SampledFunction}, "threads", "threads*s"},
	}
	for _, tt := range tests {
		if r, s := tt.m.RateUnits(), tt.m.SumUnits(); r != tt.rate || s != tt.sum {
			t.Errorf("%+v: rate %q, sum %q; want %q, %q", tt.m, r, s, tt.rate, tt.sum)
		}
	}
}

func TestEnumWords(t *testing.T) {
	for h := range NumHierarchies {
		if got, err := ParseHierarchy(h.String()); err != nil || got != h {
			t.Errorf("%v: got %v, %v", h, got, err)
		}
	}
	for _, s := range []Style{EventCounter, SampledFunction} {
		if got, err := ParseStyle(s.String()); err != nil || got != s {
			t.Errorf("%v: got %v, %v", s, got, err)
		}
	}
	for a := Sum; a <= Avg; a++ {
		if got, err := ParseAggregate(a.String()); err != nil || got != a {
			t.Errorf("%v: got %v, %v", a, got, err)
		}
	}
	for u := Normalized; u <= Sampled; u++ {
		if got, err := ParseUnitsType(u.String()); err != nil || got != u {
			t.Errorf("%v: got %v, %v", u, got, err)
		}
	}
	if _, err := ParseStyle("eventcounter"); err == nil || err.Error() != `unknown style "eventcounter"; expected one of EventCounter, SampledFunction` {
		t.Errorf("bad style: %v", err)
	}
	if _, err := ParseHierarchy("Cod"); err == nil {
		t.Error("Cod is a hierarchy")
	}
	if (NumHierarchies + 1).String() != "Hierarchy(7)" {
		t.Errorf("out of range: %v", NumHierarchies)
	}
}

// same is equality in which NaN equals NaN.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
