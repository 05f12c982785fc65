package kernelmeter

import (
	"errors"
	"fmt"

	"culprit/daemon/kernel"
	"culprit/daemon/targetstats"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/pcl"
)

// A Meter reads what the kernel keeps for a pair in one target.
type Meter struct {
	s      *Source
	plan   *pcl.Plan
	last   float64                 // of a value that is a total
	events *kernel.EventCount      // of a metric of events; else nil
	seen   map[int]targetstats.Row // the last of each row, of a metric of per-thread statistics
	begun  bool                    // rows that come now are new threads'
	need   func()                  // ends what is kept for the meter; nil if nothing
}

// New is a meter of a plan that the kernel keeps.
func New(s *Source, plan *pcl.Plan) *Meter {
	return &Meter{s: s, plan: plan, seen: map[int]targetstats.Row{}}
}

// Prepare has the kernel keep or count what the meter reads, until Close. The error says what the kernel does not keep, or not here.
func (m *Meter) Prepare() error {
	if m.plan.Event != "" {
		return m.countEvents()
	}
	if values[m.plan.KernelName] != nil {
		return m.checkDescriptors()
	}
	q, err := Statistic(m.plan)
	if err != nil {
		return err
	}
	if err := m.s.Stats.Keep(); err != nil {
		return targetstats.Refused(m.plan, err)
	}
	if m.plan.Thread != "" && !m.s.Stats.KnowsOwners() {
		return grid.ErrUnsupported{What: fmt.Sprintf("kernel(%q) of one thread of %s", m.plan.KernelName, m.s.Name), Needs: "probes, or culprit outside of the container"}
	}
	if m.need, err = m.s.Stats.Programs.Need(q, false); err != nil {
		return targetstats.Refused(m.plan, err)
	}
	return nil
}

// checkDescriptors is an error where descriptors are asked for and may not be counted: before Linux 6.2 that takes a right. 0 would say that there are none.
func (m *Meter) checkDescriptors() error {
	if m.plan.KernelName != "open_descriptors" {
		return nil
	}
	if _, err := kernel.OpenDescriptors(m.s.Proc.PID()); err != nil && !errors.Is(err, kernel.ErrGone) {
		return grid.ErrUnsupported{What: "counting the descriptors of " + m.s.Name, Needs: "Linux 6.2, or the right to trace it"}
	}
	return nil
}

// NeedsStatistics reports whether per-thread statistics are kept for the meter.
func (m *Meter) NeedsStatistics() bool { return m.need != nil }

// Tier is that of the kernel.
func (m *Meter) Tier() grid.Tier { return grid.TierKernel }

// Adopt takes no plan: what the kernel keeps does not depend on code.
func (m *Meter) Adopt(*pcl.Plan) bool { return false }

// Variance is not known: values are exact.
func (m *Meter) Variance() (float64, bool) { return 0, false }

// Begin takes the reading from which the value grows.
func (m *Meter) Begin() { m.Grown(0) }

// Grown is by how much the value has grown since the reading before, interval seconds ago, in the metric's unit.
func (m *Meter) Grown(interval float64) float64 {
	if m.events != nil {
		return m.sampleEvents()
	}
	if read := values[m.plan.KernelName]; read != nil {
		return read(m, interval)
	}
	q, _ := threadstats.ByName(m.plan.KernelName)
	return m.sampleStatistics(q)
}

// Close gives back what is kept or counted for the meter.
func (m *Meter) Close() {
	if m.need != nil {
		m.need()
		m.need = nil
	}
	if m.events != nil {
		m.events.Close()
		m.events = nil
	}
}

// since turns a total into its growth.
func (m *Meter) since(total float64) float64 {
	d := total - m.last
	m.last = total
	return max(d, 0)
}
