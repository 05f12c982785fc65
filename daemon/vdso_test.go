package daemon

import (
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestStacksThroughTheVdso: a thread that is in the kernel's code for reading the clock when probes come is known to be inside the
// functions that have called it.
func TestStacksThroughTheVdso(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/clock.c"))
	d := attachTo(t, p.PID)
	p.Say(t, "go")
	p.MustBeat(t, 5*time.Second)
	if d.targets[0].vdso.end == 0 || vdsoImage() == nil {
		t.Fatal("no vdso")
	}
	k := key(t, "exec_time_inclusive", "/Code/clock.c/main")
	const rounds = 20
	for i := range rounds {
		var s sums
		d.mustEnable(t, &s, k)
		time.Sleep(20 * time.Millisecond)
		d.Disable([]grid.PairKey{k})
		if s.of(k) < 0.015 {
			t.Errorf("round %d: %.4f s in main", i, s.of(k))
		}
		d.Settle()
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
