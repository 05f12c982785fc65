package sampling

import (
	"testing"

	"culprit/daemon/kernel"
	"culprit/pcl"
)

// TestKindsRunning: what a thread ran in the kernel is also what it ran, and where that is not known it is nothing else.
func TestKindsRunning(t *testing.T) {
	var c Counts
	c.init(nil)
	in := map[pcl.FuncID]bool{fMain: true, fUpdate: true}
	for mode, n := range map[kernel.Mode]int{kernel.UnknownMode: 1, kernel.UserMode: 2, kernel.CallMode: 4, kernel.FaultMode: 8} {
		for range n {
			for _, k := range kindsRunning[mode] {
				c.kinds[k].count(7, in, "", nil)
			}
		}
	}
	for name, want := range map[string]float64{"cpu": 15, "system_call": 4, "page_fault": 8, "sync": 0, "io": 0} {
		k, ok := KindOf(name)
		if s := &c.kinds[k]; !ok || s.total != want || s.functions[fUpdate] != want || s.threads[7] != want {
			t.Errorf("%s: %+v, want %v", name, s, want)
		}
	}
	if n := c.Seen([]pcl.FuncID{fMain}); n != 15 {
		t.Errorf("%v samples, and 15 were taken", n)
	}
}
