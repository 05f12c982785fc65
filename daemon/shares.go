package daemon

import (
	"culprit/grid"
)

// hasThreads reports whether a pair is of a single thread.
func hasThreads(pairs map[grid.PairKey]*pair) bool {
	for key := range pairs {
		if key.Focus.Depth(grid.Process) > 1 {
			return true
		}
	}
	return false
}

// sure reports whether the focus selects the thread whose growth a block holds.
func (p *part) sure(r *reading, slot int) bool {
	return p.plan.Thread == "" || r.shares[slot].Sure(p.plan.Thread)
}

// covered reports whether the focus selects a thread of whose growth a block holds some, or may.
func (p *part) covered(r *reading, slot int) bool {
	return p.plan.Thread == "" || r.shares[slot].Covers(p.plan.Thread)
}
