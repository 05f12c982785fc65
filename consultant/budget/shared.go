package budget

import "culprit/grid"

// Shared costs. What the kernel keeps for pairs it keeps for all of them at once: the first pair that needs it pays the
// whole cost, and the others nothing.

// SharedOf is what pairs that are not measured yet need and is paid once.
func (b *Budget) SharedOf(keys []grid.PairKey) (most float64) {
	for _, k := range keys {
		if _, on := b.active[k]; !on {
			most = max(most, b.prices[k].Shared)
		}
	}
	return most
}

// paysShared tells whether the shared cost is paid.
func (b *Budget) paysShared() bool {
	for _, p := range b.active {
		if p.shared > 0 {
			return true
		}
	}
	return false
}

// sharedSince is the shared cost if it is paid only since a moment: the observed cost does not show it then.
func (b *Budget) sharedSince(moment float64) (most float64) {
	for _, p := range b.active {
		if p.shared > 0 && p.at < moment {
			return 0
		}
		most = max(most, p.shared)
	}
	return most
}
