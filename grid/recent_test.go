package grid

import (
	"math"
	"slices"
	"testing"
)

func TestRecent(t *testing.T) {
	for _, c := range []struct {
		name  string
		style Style
		in    [][3]float64 // start, end, value
		want  []Interval
	}{
		{"growth", EventCounter, [][3]float64{{0, 2, 4}, {2, 2.5, 4}}, []Interval{{0, 2, 2}, {2, 2.5, 8}}},
		{"values", SampledFunction, [][3]float64{{0, 2, 4}, {2, 2.5, 6}}, []Interval{{0, 2, 4}, {2, 2.5, 6}}},
		{"a gap", EventCounter, [][3]float64{{0, 1, 1}, {3, 4, 1}}, []Interval{{0, 1, 1}, {3, 4, 1}}},
		{"growth without an interval goes to the next", EventCounter, [][3]float64{{1, 1, 3}, {1, 2, 1}}, []Interval{{1, 2, 4}}},
		{"late growth", EventCounter, [][3]float64{{0, 1, 1}, {1, 3, 2}, {0, 1, 5}}, []Interval{{0, 1, 6}, {1, 3, 1}}},
		{"a late value", SampledFunction, [][3]float64{{0, 1, 1}, {1, 3, 2}, {0, 1, 5}}, []Interval{{0, 1, 1}, {1, 3, 2}}},
		{"partly known", EventCounter, [][3]float64{{0, 1, 1}, {0.5, 2, 2}}, []Interval{{0, 1, 1}, {1, 2, 2}}},
		{"no number", EventCounter, [][3]float64{{0, 1, math.NaN()}, {1, math.Inf(1), 2}}, nil},
	} {
		var r recent
		for _, v := range c.in {
			r.add(c.style, v[0], v[1], v[2])
		}
		if got := r.after(-1); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// What is kept is bounded, and the last minute is there.
func TestRecentIsBounded(t *testing.T) {
	for _, width := range []float64{0.2, 0.001, 30} {
		var r recent
		for i := range 10_000 {
			r.add(EventCounter, float64(i)*width, float64(i+1)*width, width)
		}
		now := 10_000 * width
		if len(r.list) > 2*recentCount {
			t.Errorf("%d intervals of %g s are kept", len(r.list), width)
		}
		got := r.after(now - 10)
		if want := min(10/width, recentCount/2); float64(len(got)) < math.Floor(want) || got[len(got)-1].End != now {
			t.Errorf("%d intervals of %g s in the last ten seconds", len(got), width)
		}
	}
}
