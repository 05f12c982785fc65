package daemon

import (
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestCostsOfPairs: soon after probes are inserted in a function that is called all the time it is known that they take much, long before a pass.
func TestCostsOfPairs(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/calls.c"), "2000000000", "1")
	d := attachTo(t, p.PID)
	p.Say(t, "go")
	hot, calm := nameOf(t, d, "cpu_inclusive", "work"), key(t, "cpu", "/")
	var sum sums
	d.mustEnable(t, &sum, hot, calm)
	began := time.Now()
	for d.Costs()[hot] < 0.1 {
		if time.Since(began) > 5*time.Second {
			t.Fatalf("costs %v", d.Costs())
		}
		time.Sleep(time.Millisecond)
	}
	t.Logf("known after %v: %.2f", time.Since(began), d.Costs()[hot])
	if c, ok := d.Costs()[calm]; ok {
		t.Errorf("what the kernel keeps takes %g", c)
	}
	d.Disable([]grid.PairKey{hot})
	for began = time.Now(); d.Costs()[hot] != 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 5*time.Second {
			t.Fatalf("it is told of what is measured no longer: %v", d.Costs())
		}
	}
	detachClean(t, d, p.PID)
}
