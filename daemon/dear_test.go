package daemon

import (
	"math"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestDearWaits: probes for the waits of a program that takes a lock millions of times a second would take most of its time. So the threads that wait are
// looked at instead, which costs nothing and tells the same: two of three wait for the lock that a third one sleeps with. What costs little has probes as
// before.
func TestDearWaits(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/busylocks.c"))
	d := attachTo(t, p.PID)
	keys := []grid.PairKey{key(t, "sync_wait_inclusive", "/"), key(t, "io_wait_inclusive", "/"), key(t, "sync_ops", "/")}
	prices, errs := d.Price(keys)
	for i, err := range errs {
		if err != nil {
			t.Fatalf("%v: %v", keys[i], err)
		}
	}
	if prices[0].Fraction != 0 || !(prices[2].Fraction > 0.001) {
		t.Errorf("prices: %+v", prices)
	}
	waits, results := &sums{}, d.Enable(keys[:2], &sums{})
	if results[0].Err != nil || results[0].Tier != grid.TierSample || results[1].Err != nil || results[1].Tier != grid.TierProbe {
		t.Errorf("%+v", results)
	}
	d.Disable(keys[:2])
	d.mustEnable(t, waits, keys[0])
	from := time.Now()
	time.Sleep(4 * time.Second)
	d.Disable(keys[:1])
	if got, want := waits.of(keys[0]), 2*time.Since(from).Seconds(); math.Abs(got-want) > 0.1*want {
		t.Errorf("%.2f s of waiting, 2 of 3 threads wait for %.2f s", got, want)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
