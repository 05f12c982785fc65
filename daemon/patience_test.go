package daemon

import (
	"strings"
	"testing"
	"time"

	"culprit/daemon/stops"
	"culprit/grid"
	"culprit/internal/testprog"
)

// standing is a program of which a thread waits for its vfork child, as told: it cannot be stopped meanwhile.
func standing(t *testing.T, line string) *testprog.Prog {
	t.Helper()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/vforker.c"))
	p.Say(t, line)
	p.Expect(t, "LONG begins", 5*time.Second)
	return p
}

// TestAttachWhileAThreadStopsSoon: a process of which a thread cannot be stopped for a moment is measured as any other.
func TestAttachWhileAThreadStopsSoon(t *testing.T) {
	p := standing(t, "long 1")
	d := attachTo(t, p.PID)
	if why := d.targets[0].Sampled(); why != nil {
		t.Error("it is only looked at")
	}
	if longest := time.Duration(d.Overhead().Pauses.MaxUS) * time.Microsecond; longest > stops.Deadline/2 {
		t.Errorf("its other threads stood still for %v while one could not be stopped", longest)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestAttachWhileAThreadCannotStop: a process of which a thread cannot be stopped for long is looked at only, or the error says what to do.
func TestAttachWhileAThreadCannotStop(t *testing.T) {
	t.Parallel()
	t.Run("auto", func(t *testing.T) {
		t.Parallel()
		p := standing(t, "long 8")
		d, err := Attach(t.Context(), Options{Library: library(t), Backend: grid.BackendAuto}, p.PID)
		if err != nil {
			t.Fatal(err)
		}
		if d.targets[0].Sampled() == nil {
			t.Error("it is patched while a thread could not be stopped")
		}
		detachClean(t, d, p.PID)
		p.Stop(t)
	})
	t.Run("probe", func(t *testing.T) {
		t.Parallel()
		p := standing(t, "long 8")
		d, err := Attach(t.Context(), Options{Library: library(t)}, p.PID)
		if err == nil {
			d.Detach()
		}
		if err == nil || !strings.Contains(err.Error(), "in state D did not stop") || !strings.Contains(err.Error(), "--backend sample") {
			t.Errorf("%v", err)
		}
		p.Stop(t)
	})
}
