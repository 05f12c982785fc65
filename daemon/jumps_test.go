package daemon

import (
	"math"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestWaitsBehindJumps: a function that ends with a jump to one of the C library that waits has the time of the wait, and no other calls of that
// function.
func TestWaitsBehindJumps(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/naps.c", "-O2"), "200")
	d := attachTo(t, p.PID)
	var s sums
	var keys []grid.PairKey
	for _, fn := range []string{"nap", "naps"} {
		keys = append(keys, key(t, "exec_time_inclusive", "/Code/naps.c/"+fn))
	}
	d.mustEnable(t, &s, keys...)
	for _, k := range keys {
		if note := d.Notes(k); note != "" {
			t.Errorf("%v: %q", k, note)
		}
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	for i, fn := range []string{"nap", "naps"} {
		got, want := s.of(keys[i]), float64(p.Counts()[fn])/1e6
		if math.Abs(got-want) > 0.03*want {
			t.Errorf("%s: %.4f s, the target counts %.4f s", fn, got, want)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
