package budget

import (
	"math"
	"slices"

	"culprit/consultant/explain"
	"culprit/grid"
)

const (
	priceLife  = 60.0 // s; call rates change
	forgives   = 4    // the factor and the least that experience found are divided by it
	negligible = 0.1  // of the limit: a least that is smaller is forgotten
)

// A price is what a pair costs, or why it cannot be measured.
type price struct {
	grid.Price
	err    error
	at     float64 // s; when it was asked for
	factor float64 // by which experience corrected the prediction; 0 counts as 1
	least  float64 // fraction that experience showed, whatever is predicted
}

func (p price) fraction() float64 {
	f := p.Fraction
	if math.IsNaN(f) || f < 0 {
		f = 0
	}
	return max(f*max(p.factor, 1), p.least)
}

// SetPrice takes the price of a pair, or why it has none. What experience added to it stays.
func (b *Budget) SetPrice(k grid.PairKey, p grid.Price, err error, now float64) {
	old := b.prices[k]
	b.prices[k] = price{Price: p, err: err, at: now, factor: old.factor, least: old.least}
}

// NeedsPrice tells whether the price of a pair is unknown or old, and matters.
func (b *Budget) NeedsPrice(k grid.PairKey, now float64) bool {
	p, known := b.prices[k]
	_, on := b.active[k]
	return !on && (!known || now-p.at >= priceLife)
}

// Forget drops the prices of pairs, so that they are asked for again.
func (b *Budget) Forget(keys []grid.PairKey) {
	for _, k := range keys {
		delete(b.prices, k)
	}
}

// ForgetErrors drops those prices of pairs that are errors.
func (b *Budget) ForgetErrors(keys []grid.PairKey) {
	for _, k := range keys {
		if b.prices[k].err != nil {
			delete(b.prices, k)
		}
	}
}

// Raise corrects the price of a pair that cost more than predicted: by a factor, and to a least fraction.
func (b *Budget) Raise(k grid.PairKey, factor, least float64) {
	if p, ok := b.prices[k]; ok {
		p.factor = max(p.factor, 1) * factor
		p.least = max(p.least, least)
		b.prices[k] = p
	}
}

// WasTried reports whether experience has added to the price of one of the pairs: how often its points were thought to be executed does not explain it.
func (b *Budget) WasTried(keys []grid.PairKey) bool {
	return slices.ContainsFunc(keys, func(k grid.PairKey) bool { return b.prices[k].factor > 1 || b.prices[k].least > 0 })
}

// Forgive lowers what experience added to the prices of pairs, and tells whether there was something to lower.
func (b *Budget) Forgive(keys []grid.PairKey) bool {
	lowered := false
	for _, k := range keys {
		p := b.prices[k]
		if p.factor <= 1 && p.least <= 0 {
			continue
		}
		p.factor, p.least = max(p.factor/forgives, 1), p.least/forgives
		if p.least < negligible*b.limit {
			p.least = 0
		}
		b.prices[k], lowered = p, true
	}
	return lowered
}

// Rate is how often a second the points of pairs are executed, and how many points they are.
func (b *Budget) Rate(keys []grid.PairKey) (rate float64, points int) {
	for _, k := range keys {
		rate += b.prices[k].Rate
		points += b.prices[k].Points
	}
	return rate, points
}

// A Cost is what measuring some pairs takes, as predicted, as fractions of the target's active time.
type Cost struct {
	All    float64 // of all the pairs
	New    float64 // of those that are not measured yet
	Shared float64 // of what they need and is paid once for all pairs; besides
}

// Total is the whole cost.
func (c Cost) Total() float64 { return c.All + c.Shared }

// More is what it adds to what is measured; paid tells that what is shared is paid for.
func (c Cost) More(paid bool) float64 {
	if paid {
		return c.New
	}
	return c.New + c.Shared
}

// Predict is the cost of pairs. known is false as long as a price is unknown; err is why one of them cannot be measured.
func (b *Budget) Predict(keys []grid.PairKey) (c Cost, known bool, err error) {
	for _, k := range keys {
		if on, ok := b.active[k]; ok {
			c.All += on.cost
			continue
		}
		p, ok := b.prices[k]
		if !ok {
			return Cost{}, false, nil
		}
		if p.err != nil && err == nil {
			err = p.err
		}
		c.All += p.fraction()
		c.New += p.fraction()
	}
	c.Shared = b.SharedOf(keys)
	return c, true, err
}

// Takes says by what pairs take time.
func (b *Budget) Takes(keys []grid.PairKey) string {
	if b.WasTried(keys) {
		return "it took that when it was tried"
	}
	rate, points := b.Rate(keys)
	return explain.Takes(rate, points, b.SharedOf(keys))
}
