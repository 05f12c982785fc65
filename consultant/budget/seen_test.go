package budget

import (
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
	mayGo := func(k grid.PairKey) bool { return k != key("kept") }
	if got := b.Runaways(mayGo); !slices.Equal(got, []grid.PairKey{key("c")}) {
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
		if got := b.Dearest(c.excess, mayGo); !slices.Equal(got, c.want) {
			t.Errorf("for an excess of %g: %v", c.excess, got)
		}
	}
	if b.Seen(key("gone")) != 0 {
		t.Error("something is known of a pair that is not measured")
	}
}
