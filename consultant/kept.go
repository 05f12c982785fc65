package consultant

// What the kernel keeps for pairs it keeps for all of them at once: the first of them has the whole price of that, and the others have none
// of it.

// keptFor is what the kernel would take for what the pairs of a node need to be kept that are not enabled.
func (s *Search) keptFor(n *node) (kept float64) {
	for _, k := range n.hyp.keys(n.focus) {
		if _, on := s.active[k]; !on {
			kept = max(kept, s.prices[k].price.Kept)
		}
	}
	return kept
}

// keptNow tells whether something is kept for a pair of this search.
func (s *Search) keptNow() bool {
	for _, c := range s.active {
		if c.kept > 0 {
			return true
		}
	}
	return false
}

// willKeep notes what the pairs of a node need that are about to be enabled.
func (s *Search) willKeep(n *node) { s.keeps = s.keeps || s.keptFor(n) > 0 }

// keptSince is what is taken for what is kept only since a moment: the observed cost does not show it.
func (s *Search) keptSince(moment float64) (kept float64) {
	for _, c := range s.active {
		if c.kept > 0 && c.at < moment {
			return 0
		}
		kept = max(kept, c.kept)
	}
	return kept
}
