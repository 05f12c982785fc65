package pcltest

import "testing"

// TestQuantiles: p and a number is a view of single values, and nothing else is.
func TestQuantiles(t *testing.T) {
	for view, want := range map[View]float64{"p0": 0, "p50": 0.5, "p99.9": 0.999, "p100": 1, "p.5": 0.005} {
		got, ok := view.Quantile()
		if !ok || got != want || !view.OfValues() {
			t.Errorf("%s: %v %v, want %v", view, got, ok, want)
		}
	}
	for _, view := range []View{"", "p", "p101", "p-1", "pNaN", "p1e1", "p1.2.3", "sum", "max", "50"} {
		if _, ok := view.Quantile(); ok || view.OfValues() {
			t.Errorf("%q is taken for a quantile", view)
		}
	}
	if !Count.OfValues() || !Mean.OfValues() {
		t.Error("count and mean are of single values")
	}
}
