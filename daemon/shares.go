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
