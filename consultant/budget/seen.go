package budget

import (
	"cmp"
	"math"
	"slices"

	"culprit/grid"
)

// What single pairs were seen to take.

// runaway is how many times the limit a pair must take by itself to be stopped at once, after one reading.
const runaway = 5.0

// ObserveCosts takes what the probes of single pairs took lately, as fractions of the target's active time. It does not change what it is given.
func (b *Budget) ObserveCosts(costs map[grid.PairKey]float64) { b.seen = costs }

// Seen is what the probes of a pair that is measured took lately, as a fraction of the target's active time; 0 if that is next to nothing.
func (b *Budget) Seen(k grid.PairKey) float64 {
	if _, on := b.active[k]; !on {
		return 0
	}
	return b.seen[k]
}

// SeenOf is what the probes of some pairs took lately together, as a fraction of the target's active time.
func (b *Budget) SeenOf(keys []grid.PairKey) (sum float64) {
	for _, k := range keys {
		sum += b.Seen(k)
	}
	return min(sum, 1)
}

// Runaways are the pairs that take several times the limit by themselves and may go. worth is what a pair may tell, above 0; +Inf if it must stay.
func (b *Budget) Runaways(worth func(grid.PairKey) float64) []grid.PairKey {
	return b.dearest(runaway*b.limit, worth)
}

// Dearest are the pairs that take most for what they may tell, as many as an excess needs; none if they do not explain half of it.
func (b *Budget) Dearest(excess float64, worth func(grid.PairKey) float64) []grid.PairKey {
	all, taken := b.dearest(0, worth), 0.0
	for i, k := range all {
		if taken += b.Seen(k); taken >= excess {
			return all[:i+1]
		}
	}
	if taken < excess/2 {
		return nil
	}
	return all
}

// dearest are the pairs that were seen to take more than something and may go, those first that take most for what they are worth.
func (b *Budget) dearest(more float64, worth func(grid.PairKey) float64) (keys []grid.PairKey) {
	price := map[grid.PairKey]float64{}
	for k := range b.seen {
		if w := worth(k); b.Seen(k) > more && !math.IsInf(w, 1) {
			price[k] = b.Seen(k) / w
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(k, l grid.PairKey) int { return cmp.Or(cmp.Compare(price[l], price[k]), k.Compare(l)) })
	return keys
}
