package daemon

import (
	"fmt"
	"slices"

	"culprit/daemon/children"
	"culprit/grid"
)

// A process that a target starts runs for a while before it is seen and probes are in it. What it did until then is in no count.

// noteJoin notes for every pair that is measured in a new target whether that has run for long. Those that ran before the session are as
// those that were attached to. d.mu is held.
func (d *Daemon) noteJoin(t *measured) {
	age, late := children.LateBy(t.Proc.PID(), d.Now())
	if !late {
		return
	}
	for _, p := range d.pairs {
		if slices.ContainsFunc(p.parts, func(pt *part) bool { return pt.t == t && !pt.plan.KeptByKernel() }) {
			p.late.Note(age)
		}
	}
}

// lateJoins says that what processes did before they were measured is not in a value over all of them.
func (d *Daemon) lateJoins(key grid.PairKey) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pairs[key]
	switch {
	case p == nil || p.late.Processes == 0 || key.Focus.Depth(grid.Process) > 0:
		return nil
	case p.late.Processes == 1:
		return []string{fmt.Sprintf("1 process that was started meanwhile is measured from %.1f s after its beginning: what it did before is not counted", p.late.Most)}
	}
	return []string{fmt.Sprintf("%d processes that were started meanwhile are measured from up to %.1f s after their beginning: what they did before is not counted", p.late.Processes, p.late.Most)}
}
