package daemon

import (
	"maps"
	"slices"
	"testing"

	"culprit/pcl"
)

// TestKernelNames: what pcl warns of is what is refused here.
func TestKernelNames(t *testing.T) {
	known, told := slices.Sorted(maps.Keys(kernelQuantities)), slices.Sorted(slices.Values(pcl.KernelNames))
	if !slices.Equal(known, told) {
		t.Errorf("the daemon knows %v, pcl.KernelNames are %v", known, told)
	}
}
