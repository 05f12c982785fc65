package daemon

import (
	"culprit/grid"
	"culprit/pcl"
)

// Totals: what only grows, a timer or the events that the processor counts, of a metric whose style is that of values. Its value is how
// much it has grown since it was enabled.

// totals reports whether the pair is one. What the kernel keeps under a name is a value, or a growth, by itself.
func (p *pair) totals(m grid.Metric) bool {
	if m.Style != grid.SampledFunction || len(p.parts) == 0 {
		return false
	}
	plan := p.parts[0].plan
	return plan.Kind == pcl.WallTimer || plan.Kind == pcl.ProcessTimer || plan.Event != "" || plan.Kind == pcl.Kernel && len(plan.Vars) > 0
}

// handTotals hands to the sink what the parts of a pair have grown to, given by how much since p.last. Between two readings it is taken to
// have grown evenly.
func (d *Daemon) handTotals(p *pair, m grid.Metric, growth []float64, now float64) {
	var values []grid.Held
	for i, pt := range p.parts {
		before := pt.total
		pt.total += growth[i]
		values = append(values, grid.Held{Mean: before/2 + pt.total/2, Min: min(before, pt.total), Max: max(before, pt.total), Last: pt.total})
	}
	if p.sink != nil {
		d.holdOn(p, p.last, now, m.Aggregate.CombineHeld(values))
	}
}
