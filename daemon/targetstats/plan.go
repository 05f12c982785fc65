package targetstats

import (
	"fmt"

	"culprit/grid"
	"culprit/pcl"
)

// ReadBy tells which timers of a plan read statistics: of CPU time, which can ask the kernel instead, and of what only the kernel keeps.
func ReadBy(plan *pcl.Plan) (cpu, kept bool) {
	for _, v := range plan.Vars {
		cpu = cpu || v.Kind == pcl.ProcessTimer
		kept = kept || v.Kind == pcl.Kernel
	}
	return cpu, kept
}

// Refused is the answer to whoever asks for a plan that reads statistics, where err keeps them from being read.
func Refused(plan *pcl.Plan, err error) error {
	return fmt.Errorf("metric %q: %w", plan.Pair.Metric, grid.ErrUnsupported{What: fmt.Sprintf("kernel(%q) of this target", plan.KernelName), Needs: err.Error()})
}
