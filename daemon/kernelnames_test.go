package daemon

import (
	"maps"
	"slices"
	"testing"

	"culprit/daemon/kernel"
	"culprit/daemon/threadstats"
	"culprit/pcl"
)

// TestKernelNames: what pcl warns of is what is refused here.
func TestKernelNames(t *testing.T) {
	known, told := slices.Collect(maps.Keys(kernelQuantities)), slices.Sorted(slices.Values(pcl.KernelNames))
	for _, q := range threadstats.Quantities() {
		known = append(known, q.Name())
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if !slices.Equal(known, told) {
		t.Errorf("the daemon knows %v, pcl.KernelNames are %v", known, told)
	}
	if known, told := kernel.EventNames(), pcl.EventNames(); !slices.Equal(known, told) {
		t.Errorf("the daemon knows the events %v, pcl.EventNames are %v", known, told)
	}
}
