package daemon

import (
	"culprit/daemon/kernel"
	"culprit/daemon/probe"
	"culprit/daemon/targetstats"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/pcl"
)

// A meter is how the value of a part is come by: probes count and time it (probe.Meter), stack samples estimate it (sampleMeter), or the kernel
// keeps it anyway (kernelMeter).
type meter interface {
	Tier() grid.Tier
	// Begin takes the reading from which the value grows.
	Begin()
	// Grown is by how much the value has grown since the reading before, interval seconds ago, in the metric's unit; of a sampled function it
	// is the value itself.
	Grown(interval float64) float64
	// Adopt takes a plan that asks for more than the part's own, without a change of the target. False where that needs one.
	Adopt(plan *pcl.Plan) bool
	// Variance is the square of the standard error of all that has grown since Begin; false where the value is exact, or not known yet.
	Variance() (v float64, ok bool)
	// Close gives back what is kept for the part.
	Close()
}

// A kernelMeter reads what the kernel keeps.
type kernelMeter struct {
	t      *measured
	plan   *pcl.Plan
	last   float64                 // of a quantity that is a total
	events *kernel.EventCount      // of a metric of events; else nil
	seen   map[int]targetstats.Row // last value by row, of a quantity of rows
	begun  bool                    // rows that come now are new threads'
}

func newKernelMeter(t *measured, plan *pcl.Plan) *kernelMeter {
	return &kernelMeter{t: t, plan: plan, seen: map[int]targetstats.Row{}}
}

func (m *kernelMeter) Tier() grid.Tier           { return grid.TierKernel }
func (m *kernelMeter) Adopt(*pcl.Plan) bool      { return false }
func (m *kernelMeter) Variance() (float64, bool) { return 0, false }
func (m *kernelMeter) Begin()                    { m.Grown(0) }

func (m *kernelMeter) Grown(interval float64) float64 {
	if m.events != nil {
		return m.sampleEvents()
	}
	if read := kernelQuantities[m.plan.KernelName]; read != nil {
		return read(m, interval)
	}
	return m.sampleRows(probe.Quantity(m.plan))
}

func (m *kernelMeter) Close() {
	if m.events != nil {
		m.events.Close()
		m.events = nil
	}
}

// sampleRows is the growth of a quantity over all threads that the focus covers, from the per-thread statistics.
func (m *kernelMeter) sampleRows(q threadstats.Quantity) (sum float64) {
	for now := range m.t.Stats.Rows(q) {
		last := m.seen[now.Index]
		known := last.ThreadPointer == now.ThreadPointer && last.Life == now.Life
		if !known {
			last.Value = 0 // a new thread, whose row begins with 0
		}
		grown := float64(max(now.Value, last.Value) - last.Value)
		if (known || m.begun) && grown > 0 && covers(m.t, m.plan, m.t.Stats.Owner(now)) {
			sum += grown
		}
		now.Value = max(now.Value, last.Value)
		m.seen[now.Index] = now
	}
	m.begun = true
	if q.Nanoseconds() {
		sum /= 1e9
	}
	return sum
}
