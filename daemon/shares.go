package daemon

import (
	"fmt"
	"strings"

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

// Unsure says why nothing may be concluded from the value of a pair: it may be of other threads, or more of it its own; "" if it may. It is among the
// Notes.
func (d *Daemon) Unsure(key grid.PairKey) string { return strings.Join(d.sharedBlocks(key), "; ") }

// sharedBlocks says how much of the value of a thread may be of others, and how much of others may be its own.
func (d *Daemon) sharedBlocks(key grid.PairKey) (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	metric, _ := d.session.Library.Metric(key.Metric)
	var more, less float64
	handed := false
	for _, pt := range d.partsOf(key) {
		more, less, handed = more+pt.more, less+pt.less, handed || pt.gauge.handed
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("up to %.4g %s more may be its own: it ended, or began, while other threads did, in a fifth of a second in which one may have had the memory of the other",
			more, metric.SumUnits()))
	}
	if less > 0 {
		lines = append(lines, fmt.Sprintf("up to %.4g %s of it may be of threads that had its memory before", less, metric.SumUnits()))
	}
	if handed {
		lines = append(lines, "threads may have begun in the memory of ones that ended, and go on with what these have left; then only a sum of changes (+=, -=, ++) is right")
	}
	return lines
}
