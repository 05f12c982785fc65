package budget

import (
	"errors"
	"math"
	"testing"

	"culprit/grid"
)

func key(name string) grid.PairKey { return grid.PairKey{Metric: name} }

// A shared cost is paid once: the first pair that needs it costs it, the others do not, and the load shows it until the
// observed cost does.
func TestSharedCostIsPaidOnce(t *testing.T) {
	b := New(0.02)
	keys := []grid.PairKey{key("a"), key("b")}
	for _, k := range append(keys, key("other")) {
		b.SetPrice(k, grid.Price{Shared: 0.012}, nil, 0)
	}
	c, known, err := b.Predict(keys)
	if room := b.Room(5); c.Total() != 0.012 || c.More(room.Paid) != 0.012 || !known || err != nil {
		t.Errorf("alone: %+v, %v, %v", c, known, err)
	}
	b.Enable(key("other"), 10, grid.TierProbe, 10)
	c, _, _ = b.Predict(keys)
	if room := b.Room(10); c.Total() != 0.012 || c.More(room.Paid) != 0 {
		t.Errorf("beside another: %+v, %+v", c, room)
	}
	if soon, late := b.Load(10.1), b.Load(10+settleTime+1); soon != 0.012 || late != 0 {
		t.Errorf("the load is %g until the observed cost shows it, and %g after that", soon, late)
	}
}

func TestAdmit(t *testing.T) {
	for name, c := range map[string]struct {
		room  Room
		cost  Cost
		share float64
		ok    bool
	}{
		"fits":                      {Room{Limit: 2, Load: 1}, Cost{New: 1}, 1, true},
		"does not fit":              {Room{Limit: 2, Load: 1}, Cost{New: 1.5}, 1, false},
		"fits but for the share":    {Room{Limit: 2, Load: 1}, Cost{New: 1}, 0.8, false},
		"costs nothing more":        {Room{Limit: 2, Load: 3}, Cost{All: 1}, 1, true},
		"shared cost does not fit":  {Room{Limit: 2, Load: 1}, Cost{New: 0.5, Shared: 1}, 1, false},
		"shared cost has been paid": {Room{Limit: 2, Load: 1, Paid: true}, Cost{New: 0.5, Shared: 1}, 1, true},
	} {
		if ok, lacking := c.room.Admit(c.cost, c.share); ok != c.ok || !ok && lacking <= 0 {
			t.Errorf("%s: %v, %g is lacking", name, ok, lacking)
		}
	}
	r := Room{Limit: 2, Pairs: maxPairs - 1}
	if r.Full(1) || !r.Full(2) {
		t.Error("the number of pairs is not bounded")
	}
	r.Take(Cost{New: 0.5, Shared: 1}, 1, true)
	if r != (Room{Limit: 2, Load: 1.5, Pairs: maxPairs, Paid: true}) {
		t.Errorf("%+v", r)
	}
}

// What experience added to a price outlives the next price, and is forgiven step by step.
func TestPricesLearn(t *testing.T) {
	b, k := New(0.02), key("a")
	total := func() float64 {
		c, known, err := b.Predict([]grid.PairKey{k})
		if !known || err != nil {
			t.Fatal(known, err)
		}
		return c.Total()
	}
	if _, known, _ := b.Predict([]grid.PairKey{k}); known || !b.NeedsPrice(k, 0) {
		t.Error("a price is known before it was asked for")
	}
	b.Raise(k, 2, 1) // nothing is known of it
	b.SetPrice(k, grid.Price{Fraction: math.NaN()}, nil, 0)
	if total() != 0 {
		t.Errorf("no number costs %g", total())
	}
	b.SetPrice(k, grid.Price{Fraction: 0.001}, nil, 0)
	b.Raise(k, 4, 0)
	if b.SetPrice(k, grid.Price{Fraction: 0.002}, nil, 1); total() != 0.008 {
		t.Errorf("raised it costs %g", total())
	}
	if b.Raise(k, 1, 0.01); total() != 0.01 {
		t.Errorf("it costs %g, and 0.01 was seen", total())
	}
	if !b.Forgive([]grid.PairKey{k}) || total() != 0.0025 {
		t.Errorf("forgiven it costs %g", total())
	}
	if b.Forgive([]grid.PairKey{k}); total() != 0.002 || b.Forgive([]grid.PairKey{k}) {
		t.Errorf("forgiven all it costs %g", total())
	}
	if b.NeedsPrice(k, 1+priceLife/2) || !b.NeedsPrice(k, 1+priceLife) {
		t.Error("prices do not get old")
	}
	why := errors.New("why")
	b.SetPrice(k, grid.Price{}, why, 1)
	if _, _, err := b.Predict([]grid.PairKey{k}); err != why {
		t.Errorf("the error of a price is %v", err)
	}
	if b.ForgetErrors([]grid.PairKey{k}); !b.NeedsPrice(k, 1) {
		t.Error("the error is remembered")
	}
}

// An excess counts only when it lasts, is not what a stop leaves behind, and nothing was stopped for it a moment ago.
func TestExcess(t *testing.T) {
	b := New(0.02)
	due := func(cost, now float64) bool {
		b.Observe(cost, 0)
		return b.Excess(now) > 0
	}
	for _, c := range []struct {
		cost, now float64
		want      bool
	}{
		{0.01, 0, false}, {0.03, 1, false}, {0.03, 2, false}, {0.031, 1 + shedAfter, true}, {0.02, 3, false}, // not more than the limit
		{0.03, 4, false}, {0.06, 4 + shedAfter, true}, {0.03, 6, false}, // it fades
		{math.NaN(), 7, false}, {1, 8, false}, {1, 8.5, true},
	} {
		if got := due(c.cost, c.now); got != c.want {
			t.Errorf("%g at %g s: %v", c.cost, c.now, got)
		}
	}
	if b.Shed(9); due(1, 9+shedPause/2) || !due(1, 9+shedPause) {
		t.Error("after a step of shedding there is no pause")
	}
}

// Pauses are paid for before the next batch, but for the first one.
func TestPausesArePaid(t *testing.T) {
	b := New(0.02)
	if b.Observe(0, 5); b.OwesPauses(0) || !b.MayStart(0) {
		t.Error("the first batch waits")
	}
	b.Changed(1)
	if !b.OwesPauses(1) || b.MayStart(1) || b.MustDrop(10) || b.OwesPauses(5/0.02-pauseCredit+1) {
		t.Error("5 s are not paid for when they are")
	}
	if b.Observe(0, 0); b.MustDrop(1+dropTime/2) || !b.MustDrop(1+dropTime) {
		t.Error("what nobody needs is not dropped after a while")
	}
	if b.Observe(0.015, 0); !b.MustDrop(1) {
		t.Error("what nobody needs stays although the budget is half used")
	}
}

func TestAllowance(t *testing.T) {
	b := New(0.02)
	for _, c := range []struct {
		allowance                                              float64
		busy, hasTime, overdrawn, postpones, postponesUnlikely bool
	}{
		{math.Inf(1), false, true, false, false, false},
		{1, true, true, false, false, false},
		{0, true, false, false, false, true},
		{-ahead / 2, true, false, true, false, true},
		{-2 * ahead, true, false, true, true, true},
	} {
		b.SetAllowance(c.allowance)
		if b.Busy() != c.busy || b.HasTime() != c.hasTime || b.Overdrawn() != c.overdrawn || b.Postpones(false) != c.postpones || b.Postpones(true) != c.postponesUnlikely {
			t.Errorf("allowance %g: busy %v, time %v, overdrawn %v, postpones %v and %v", c.allowance, b.Busy(), b.HasTime(), b.Overdrawn(), b.Postpones(false), b.Postpones(true))
		}
	}
}
