package daemon

import (
	"culprit/daemon/kernel"
	"culprit/daemon/probe"
	"culprit/grid"
	"culprit/pcl"
)

// A meter is how the value of a part is come by: probes count and time it (probeMeter), stack samples estimate it (sampleMeter), or the kernel
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

// A probeMeter reads what probes leave in the thread blocks, as of the last reading of its target.
type probeMeter struct{ p *part }

func (m probeMeter) Tier() grid.Tier           { return grid.TierProbe }
func (m probeMeter) Adopt(*pcl.Plan) bool      { return false }
func (m probeMeter) Variance() (float64, bool) { return 0, false }

func (m probeMeter) Begin() {
	m.p.use.Begin(m.p.executions(m.p.t.reading))
}

func (m probeMeter) Grown(interval float64) float64 {
	if len(m.p.Cells) == 0 || m.p.t.Seg == nil {
		return 0
	}
	return m.p.readCells(m.p.t.reading, interval)
}

func (m probeMeter) Close() {
	p := m.p
	p.t.giveCells(p.Words())
	p.Clear()
	p.keys = keyTable{}
}

// A kernelMeter reads what the kernel keeps.
type kernelMeter struct {
	t      *measured
	plan   *pcl.Plan
	last   float64            // of a quantity that is a total
	events *kernel.EventCount // of a metric of events; else nil
	rows   map[int]slotValue  // last value by row, of a quantity of rows
	begun  bool               // rows that come now are new threads'
}

func newKernelMeter(t *measured, plan *pcl.Plan) *kernelMeter {
	return &kernelMeter{t: t, plan: plan, rows: map[int]slotValue{}}
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

// forgetRow forgets the row of a thread that has ended.
func (m *kernelMeter) forgetRow(i int) { delete(m.rows, i) }
