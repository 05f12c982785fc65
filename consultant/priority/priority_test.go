package priority

import (
	"cmp"
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
		return cmp.Or(a.p.Rank(a.why, a.first)-b.p.Rank(b.why, b.first), cmp.Compare(b.p.Gain(0, 0), a.p.Gain(0, 0)))
	})
	if !slices.Equal(list, want) {
		t.Errorf("%+v, want %+v", list, want)
	}
}

// TestGain: what may tell more comes first, what is dear later, and what has waited for long sooner.
func TestGain(t *testing.T) {
	hot, small := Priority{Hot: true, Weight: 0.9}, Priority{Hot: true, Weight: 0.3}
	for _, c := range []struct {
		name             string
		first, second    Priority
		price1, price2   float64
		waited1, waited2 float64
	}{
		{name: "more time", first: hot, second: small},
		{name: "more likely", first: Priority{Hot: true}, second: Priority{}},
		{name: "samples speak against it", first: Priority{Weight: 0.1}, second: Priority{Cool: true, Weight: 0.1}},
		{name: "cheaper", first: small, second: hot, price2: 0.01},
		{name: "hardly cheaper", first: hot, second: small, price1: 0.0001},
		{name: "has waited", first: hot, second: small, price1: 0.003, waited1: Patience},
	} {
		if a, b := c.first.Gain(c.price1, c.waited1), c.second.Gain(c.price2, c.waited2); a <= b {
			t.Errorf("%s: %g is not more than %g", c.name, a, b)
		}
	}
	if p := (Priority{Hot: true, Weight: 0.5}); p.Worth(true) <= p.Worth(false) || (Priority{}).Worth(false) < Least {
		t.Error("an answer is worth as much as a test, or nothing")
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

// TestWait: what a test waits for counts from the first time, and it is deferred for longer each time.
func TestWait(t *testing.T) {
	var w Wait
	if w.Since() != 0 || w.Wanted(9) != 0 || w.Postponed(9) != 0 {
		t.Errorf("nobody has looked at it: %+v", w)
	}
	w.Postpone(2)
	w.Postpone(3)
	w.Want(4)
	w.Want(5)
	if w.Since() != 4 || w.Wanted(6) != 2 || w.Postponed(6) != 4 {
		t.Errorf("since %g, wanted for %g s, postponed for %g s", w.Since(), w.Wanted(6), w.Postponed(6))
	}
	for _, want := range []float64{0.25, 0.5, 1, 2, 4, 8, 8} {
		if got := w.Defer(); got != want {
			t.Errorf("deferred for %g s, want %g", got, want)
		}
	}
}
