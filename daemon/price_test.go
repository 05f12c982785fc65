package daemon

import (
	"testing"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestFirstPrice: a price that is asked for before the first pass is a share of the time of all threads, too.
func TestFirstPrice(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/cpu.c"))
	d := attachTo(t, p.PID)
	if _, errs := d.Price([]grid.PairKey{key(t, "cpu", "/")}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	d.lockAll()
	active, asked := d.targets[0].Threads.Active(), d.targets[0].Threads.Refreshed()
	d.unlockAll()
	if active < 1 || asked == 0 {
		t.Errorf("%.1f threads are active as of %.3f s", active, asked)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
