package daemon

import (
	"testing"
	"time"

	"culprit/daemon/process"
	"culprit/internal/testprog"
)

// TestLostShare: what a session reports is all that the target has lost since the attach, not what it lost at the end.
func TestLostShare(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/cpu.c"))
	p.Say(t, "go")
	d := attachTo(t, p.PID)
	err := d.targets[0].Stops.Stop(func(*process.World) error { time.Sleep(200 * time.Millisecond); return nil })
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // by then it is forgotten as the cost of the last second
	got, lately := d.Overhead().Observed, d.ObservedCost()
	stood := d.session.Pauses.Total().Seconds() / d.Now()
	if got < 0.9*stood || got > stood+0.05 || lately > got {
		t.Errorf("%.4f of its time, of which it stood still for %.4f; lately %.4f", got, stood, lately)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
