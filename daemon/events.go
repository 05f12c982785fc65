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
func (m *kernelMeter) countEvents() error {
	tid := 0
	if name := m.plan.Thread; name != "" {
		if tid = m.t.Threads.Number(name); tid == 0 {
			return fmt.Errorf("%s has no thread %q now", m.t.Name, name)
		}
	}
	c, err := kernel.CountEvent(m.t.Proc.PID(), tid, m.plan.Event)
	if err != nil {
		return m.noEvents(err)
	}
	if c.UserOnly() {
		m.t.Logf("%s: %s is counted in user mode only: what the kernel does for it may not be seen", m.t.Name, m.plan.Event)
	}
	m.events = c
	return nil
}

// noEvents has an error say which metric cannot be had.
func (m *kernelMeter) noEvents(err error) error {
	what := fmt.Sprintf("hwCounter(%q) of %s", m.plan.Event, m.t.Name)
	var denied *kernel.NotPermitted
	var lacks *kernel.Unsupported
	switch {
	case errors.As(err, &denied):
		err = grid.ErrNotPermitted{What: what, Help: denied.Remedy}
	case errors.As(err, &lacks):
		err = grid.ErrUnsupported{What: what, Needs: lacks.Needs}
	}
	return fmt.Errorf("metric %q: %w", m.plan.Pair.Metric, err)
}

// sampleEvents is how many there were since the last pass.
func (m *kernelMeter) sampleEvents() float64 {
	total, err := m.events.Value()
	if err != nil {
		return 0
	}
	return m.since(total)
}
