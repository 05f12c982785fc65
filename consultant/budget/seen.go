package budget

import (
	"cmp"
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

// Runaways are the pairs that take several times the limit by themselves and may go.
func (b *Budget) Runaways(mayGo func(grid.PairKey) bool) []grid.PairKey {
	return b.dearest(func(k grid.PairKey) bool { return b.Seen(k) > runaway*b.limit && mayGo(k) })
}

// Dearest are the pairs that take most and may go, as many as an excess needs; none if they do not explain half of it.
func (b *Budget) Dearest(excess float64, mayGo func(grid.PairKey) bool) []grid.PairKey {
	all, taken := b.dearest(mayGo), 0.0
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

// dearest are the pairs of a kind of which it was seen what they take, those first that take most.
func (b *Budget) dearest(kind func(grid.PairKey) bool) (keys []grid.PairKey) {
	for k := range b.seen {
		if b.Seen(k) > 0 && kind(k) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(k, l grid.PairKey) int { return cmp.Or(cmp.Compare(b.Seen(l), b.Seen(k)), k.Compare(l)) })
	return keys
}
