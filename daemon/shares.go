package daemon

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/grid"
)

// A thread block belongs to a thread pointer, which the C library gives to a new thread when the one that had it has ended. Whose growth in the time
// since the last pass is, is known where nobody else can have had the block meanwhile. What may be of several threads is told of none of them.

// A share says whose growth a block holds since the last pass.
type share struct {
	of    *threadRow    // nil: of nobody that is known for certain
	among [2]*threadRow // of some of these, if of is nil
	after bool          // of may have got the block from a thread that nobody saw
}

// shareOf is the share of the block of a thread pointer, which belongs to the live thread tid; 0 if to none that is known. calm says that no thread
// has begun and ended since the last pass: one that has may have had any block that was free.
func (t *target) shareOf(fs uint64, tid int, now float64, calm bool) share {
	last, before, isNew := t.threads.sharers(fs, tid)
	if !calm && last != nil && before == nil && now != t.threads.refreshedAt() && !threadLives(t.proc.PID(), last.tid) {
		last, before = nil, last // it has ended since the threads were looked at
	}
	switch {
	case last != nil && before == nil:
		return share{of: last, after: isNew && !calm}
	case last == nil && before == nil:
		return share{}
	case last == nil && calm && (t.ended || t.tidAt(fs) == 0 || t.tidAt(fs) == before.tid): // else it is of one that began a moment ago
		return share{of: before}
	}
	return share{among: [2]*threadRow{last, before}}
}

func threadLives(pid, tid int) bool {
	return unix.Access(fmt.Sprintf("/proc/%d/task/%d", pid, tid), unix.F_OK) == nil
}

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
	of := r.shares[slot].of
	return p.plan.Thread == "" || of != nil && of.named(p.plan.Thread)
}

// covered reports whether the focus selects a thread of whose growth a block holds some, or may.
func (p *part) covered(r *reading, slot int) bool {
	if p.sure(r, slot) {
		return true
	}
	for _, row := range r.shares[slot].among {
		if row != nil && row.named(p.plan.Thread) {
			return true
		}
	}
	return false
}

// Unsure says why nothing may be concluded from the value of a pair: it may be of other threads, or more of it its own; "" if it may. It is among the
// Notes.
func (d *Daemon) Unsure(key grid.PairKey) string { return strings.Join(d.sharedBlocks(key), "; ") }

// sharedBlocks says how much of the value of a thread may be of others, and how much of others may be its own.
func (d *Daemon) sharedBlocks(key grid.PairKey) (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	metric, _ := d.opts.Library.Metric(key.Metric)
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
