package daemon

import (
	"culprit/grid"
	"culprit/pcl"
)

// A meter is how the value of a part is come by: probes count and time it (probe.Meter), stack samples estimate it (sampleMeter), or the kernel
// keeps it anyway (kernelmeter.Meter).
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
