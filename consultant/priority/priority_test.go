package priority

import (
	"slices"
	"testing"
)

// TestOrder: what the user wants, the whole program, what stack samples speak for, other hypotheses of a place, the rest; on more stacks first.
func TestOrder(t *testing.T) {
	type test struct {
		name       string
		p          Priority
		why, first bool
	}
	list := []test{
		{name: "pinned", p: Priority{Pinned: true, Weight: 0.5}, why: true},
		{name: "by hand", p: Priority{ByHand: true}},
		{name: "whole program", why: true, first: true},
		{name: "hot", p: Priority{Hot: true, Weight: 0.9}, why: true},
		{name: "less hot", p: Priority{Hot: true, Weight: 0.3}},
		{name: "why", why: true},
		{name: "plain", p: Priority{Weight: 0.2}},
		{name: "cool", p: Priority{Cool: true, Weight: 0.1}},
	}
	want := slices.Clone(list)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b test) int {
		if d := a.p.Rank(a.why, a.first) - b.p.Rank(b.why, b.first); d != 0 {
			return d
		}
		return a.p.Compare(b.p)
	})
	if !slices.Equal(list, want) {
		t.Errorf("%+v, want %+v", list, want)
	}
}

// TestBehind: only what samples speak against waits for others, and not for ever.
func TestBehind(t *testing.T) {
	cool := Priority{Cool: true}
	for _, c := range []struct {
		name   string
		p      Priority
		hot    bool
		waited float64
		want   bool
	}{
		{"at first", cool, true, 0, true}, {"in time", cool, true, Patience - 0.1, true}, {"too long", cool, true, Patience, false},
		{"nothing is hot", cool, false, 0, false}, {"samples say nothing", Priority{}, true, 0, false},
		{"wanted", Priority{Cool: true, ByHand: true}, true, 0, false}, {"pinned", Priority{Cool: true, Pinned: true}, true, 0, false},
		{"hot itself", Priority{Cool: true, Hot: true}, true, 0, false},
	} {
		if got := c.p.IsBehind(c.hot, c.waited); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
