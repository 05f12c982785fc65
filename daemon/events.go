package daemon

import (
	"errors"
	"fmt"

	"culprit/daemon/kernel"
	"culprit/grid"
)

// Events of the processor and of the kernel that perf counts: PCL's "base is hwCounter(NAME)". They are counted in threads, so for the whole
// program, processes and threads; a probe cannot read them.

// countEvents begins to count what the part is for, until release.
func (p *part) countEvents() error {
	tid := 0
	if name := p.plan.Thread; name != "" {
		if tid = p.t.threads.Number(name); tid == 0 {
			return fmt.Errorf("%s has no thread %q now", p.t.name, name)
		}
	}
	c, err := kernel.CountEvent(p.t.proc.PID(), tid, p.plan.Event)
	if err != nil {
		return p.noEvents(err)
	}
	if c.UserOnly() {
		p.t.d.logf("%s: %s is counted in user mode only: what the kernel does for it may not be seen", p.t.name, p.plan.Event)
	}
	p.events = c
	return nil
}

// noEvents has an error say which metric cannot be had.
func (p *part) noEvents(err error) error {
	what := fmt.Sprintf("hwCounter(%q) of %s", p.plan.Event, p.t.name)
	var denied *kernel.NotPermitted
	var lacks *kernel.Unsupported
	switch {
	case errors.As(err, &denied):
		err = grid.ErrNotPermitted{What: what, Help: denied.Remedy}
	case errors.As(err, &lacks):
		err = grid.ErrUnsupported{What: what, Needs: lacks.Needs}
	}
	return fmt.Errorf("metric %q: %w", p.plan.Pair.Metric, err)
}

// sampleEvents is how many there were since the last pass.
func (p *part) sampleEvents() float64 {
	total, err := p.events.Value()
	if err != nil {
		return 0
	}
	return p.since(total)
}
