package kernelmeter

import (
	"slices"
	"testing"

	"culprit/daemon/kernel"
	"culprit/pcl"
)

// TestNames: what pcl warns of is what is refused here.
func TestNames(t *testing.T) {
	if known, told := Names(), slices.Sorted(slices.Values(pcl.KernelNames)); !slices.Equal(known, told) {
		t.Errorf("the daemon knows %v, pcl.KernelNames are %v", known, told)
	}
	if known, told := kernel.EventNames(), pcl.EventNames(); !slices.Equal(known, told) {
		t.Errorf("the daemon knows the events %v, pcl.EventNames are %v", known, told)
	}
}
