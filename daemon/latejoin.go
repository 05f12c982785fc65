package daemon

import (
	"fmt"
	"slices"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
	"culprit/grid"
)

// A process that a target starts runs for a while before it is seen and probes are in it. What it did until then is in no count.

// lateJoin is how long after its beginning a process is measured so that it is said, in s: most are sooner.
const lateJoin = 0.05

// lateJoins are the processes in which a pair was measured late.
type lateJoins struct {
	processes int
	most      float64 // s after the beginning
}

// age is for how long the process of a target has run, in s; 0 if that is not known.
func (t *measured) age() float64 {
	start := process.StartTime(t.Proc.PID())
	if start == 0 {
		return 0
	}
	return kernel.Age(start)
}

// noteJoin notes for every pair that is measured in a new target whether that has run for long. Those that ran before the session are as
// those that were attached to. d.mu is held.
func (d *Daemon) noteJoin(t *measured) {
	age := t.age()
	if age <= lateJoin || age >= d.Now() {
		return
	}
	for _, p := range d.pairs {
		if slices.ContainsFunc(p.parts, func(pt *part) bool { return pt.t == t && !pt.plan.KeptByKernel() }) {
			p.late.processes++
			p.late.most = max(p.late.most, age)
		}
	}
}

// lateJoins says that what processes did before they were measured is not in a value over all of them.
func (d *Daemon) lateJoins(key grid.PairKey) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pairs[key]
	switch {
	case p == nil || p.late.processes == 0 || key.Focus.Depth(grid.Process) > 0:
		return nil
	case p.late.processes == 1:
		return []string{fmt.Sprintf("1 process that was started meanwhile is measured from %.1f s after its beginning: what it did before is not counted", p.late.most)}
	}
	return []string{fmt.Sprintf("%d processes that were started meanwhile are measured from up to %.1f s after their beginning: what they did before is not counted", p.late.processes, p.late.most)}
}
