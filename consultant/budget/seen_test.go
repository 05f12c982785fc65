package budget

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"culprit/grid"
)

func TestDearest(t *testing.T) {
	key := func(m string) grid.PairKey { return grid.PairKey{Metric: m, Focus: grid.Whole()} }
	b := New(0.02)
	costs := map[grid.PairKey]float64{key("a"): 0.01, key("b"): 0.05, key("c"): 0.12, key("gone"): 0.9, key("kept"): 0.3}
	for k := range costs {
		if k != key("gone") {
			b.Enable(k, 0, grid.TierProbe, 0)
		}
	}
	b.ObserveCosts(costs)
	value := map[grid.PairKey]float64{key("kept"): math.Inf(1)}
	worth := func(k grid.PairKey) float64 { return cmp.Or(value[k], 1) }
	if got := b.Runaways(worth); !slices.Equal(got, []grid.PairKey{key("c")}) {
		t.Errorf("runaways %v", got)
	}
	for _, c := range []struct {
		excess float64
		want   []grid.PairKey
	}{
		{0.1, []grid.PairKey{key("c")}},
		{0.15, []grid.PairKey{key("c"), key("b")}},
		{0.3, []grid.PairKey{key("c"), key("b"), key("a")}}, // more than half of it
		{0.4, nil},
	} {
		if got := b.Dearest(c.excess, worth); !slices.Equal(got, c.want) {
			t.Errorf("for an excess of %g: %v", c.excess, got)
		}
	}
	value[key("c")] = 3 // it costs less for what it may tell
	if got := b.Dearest(0.04, worth); !slices.Equal(got, []grid.PairKey{key("b")}) {
		t.Errorf("%v go instead of what is worth least", got)
	}
	if b.Seen(key("gone")) != 0 {
		t.Error("something is known of a pair that is not measured")
	}
}
