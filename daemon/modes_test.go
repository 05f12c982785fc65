package daemon

import (
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestWeightsOfTheKernel: samples say below which functions the kernel works for the program, in system calls and in page faults.
func TestWeightsOfTheKernel(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/modes.c"))
	d := attachTo(t, p.PID)
	p.Say(t, "go")
	at := func(name string) grid.Focus { return grid.Whole().Refine(grid.Code, "modes.c", name) }
	awaitWeight(t, d, at("ask"), "system_call", 0.7)
	awaitWeight(t, d, at("touch"), "page_fault", 0.9)
	awaitWeight(t, d, at("compute"), "cpu", 0.25)
	time.Sleep(time.Second) // until there are some hundred samples
	for f, kind := range map[string]string{"ask": "page_fault", "compute": "system_call"} {
		if w := d.Weight(at(f), kind); w > 0.1 {
			t.Errorf("%s is on %.2f of the %s stacks", f, w, kind)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
