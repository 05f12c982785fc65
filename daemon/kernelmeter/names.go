package kernelmeter

import (
	"maps"
	"slices"

	"culprit/daemon/kernel"
	"culprit/daemon/targetstats"
	"culprit/daemon/threadstats"
	"culprit/pcl"
)

// Names are all that kernel(NAME) may name, sorted.
func Names() []string {
	names := slices.Collect(maps.Keys(values))
	for _, q := range threadstats.Quantities() {
		names = append(names, q.Name())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Missing is why the kernel does not keep what a plan reads, as far as that is known without asking it to.
func Missing(plan *pcl.Plan) error {
	if plan.Event != "" {
		return kernel.EventMissing(plan.Event)
	}
	if values[plan.KernelName] != nil {
		return nil
	}
	if err := threadstats.Missing(); err != nil {
		return targetstats.Refused(plan, err)
	}
	return nil
}
