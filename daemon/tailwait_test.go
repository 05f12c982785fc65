package daemon

import (
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestWaitsBehindAJump: a function that ends in a jump into the C library has no frame while it waits there, and is known to wait all the same,
// also in a program with probes: the call before the address that is left on the stack names it. Of two functions over which the jumps may
// have gone neither is named.
func TestWaitsBehindAJump(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/tailwait.c"))
	d := attachTo(t, p.PID)
	p.Say(t, "go")
	at := func(name string) grid.Focus { return grid.Whole().Refine(grid.Code, "tailwait.c", name) }
	awaitWeight(t, d, at("take"), "io", 0.9)
	awaitWeight(t, d, at("receive"), "io", 0.3)
	awaitWeight(t, d, at("either"), "io", 0.3)
	time.Sleep(time.Second) // until there are some more samples
	for _, name := range []string{"receive", "either"} {
		if w := d.Weight(at(name), "io"); w < 0.25 || w > 0.75 {
			t.Errorf("%s is on %.2f of the io stacks, and waits half of the time", name, w)
		}
	}
	for _, name := range []string{"left", "right"} {
		if w := d.Weight(at(name), "io"); w > 0 {
			t.Errorf("%s is on %.2f of the io stacks, and nobody knows that", name, w)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
