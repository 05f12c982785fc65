package sampling

import (
	"testing"

	"culprit/pcl"
)

// TestComputes: threads are told apart in each function, and what is counted is bounded.
func TestComputes(t *testing.T) {
	c := &Counts{computing: map[funcThread]float64{}}
	c.computes(7, []pcl.FuncID{1, 2})
	c.computes(7, []pcl.FuncID{1})
	c.computes(8, []pcl.FuncID{1})
	for at, want := range map[funcThread]float64{{1, 7}: 2, {2, 7}: 1, {1, 8}: 1, {2, 8}: 0} {
		if got := c.computing[at]; got != want {
			t.Errorf("%+v: %v, want %v", at, got, want)
		}
	}
	for tid := range 2 * maxComputing {
		c.computes(tid, []pcl.FuncID{1})
	}
	if len(c.computing) > maxComputing || c.computing[funcThread{1, 7}] != 3 {
		t.Errorf("%d are counted, of what was known %v", len(c.computing), c.computing[funcThread{1, 7}])
	}
}
