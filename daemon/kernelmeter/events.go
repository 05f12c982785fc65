package kernelmeter

import (
	"errors"
	"fmt"

	"culprit/daemon/kernel"
	"culprit/grid"
)

// Events of the CPU and of the kernel that perf counts: PCL's "base is hwCounter(NAME)". They are counted in threads, so for the whole
// program, processes and threads; a probe cannot read them.

// countEvents begins to count what the meter is for, until Close.
func (m *Meter) countEvents() error {
	tid := 0
	if name := m.plan.Thread; name != "" {
		if tid = m.s.Threads.Number(name); tid == 0 {
			return fmt.Errorf("%s has no thread %q now", m.s.Name, name)
		}
	}
	c, err := kernel.CountEvent(m.s.Proc.PID(), tid, m.plan.Event)
	if err != nil {
		return m.noEvents(err)
	}
	if c.UserOnly() {
		m.s.Logf("%s: %s is counted in user mode only: what the kernel does for it may not be seen", m.s.Name, m.plan.Event)
	}
	m.events = c
	return nil
}

// noEvents has an error say which metric cannot be had.
func (m *Meter) noEvents(err error) error {
	what := fmt.Sprintf("hwCounter(%q) of %s", m.plan.Event, m.s.Name)
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
func (m *Meter) sampleEvents() float64 {
	total, err := m.events.Value()
	if err != nil {
		return 0
	}
	return m.since(total)
}
