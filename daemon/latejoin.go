package daemon

import (
	"slices"

	"culprit/daemon/children"
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
