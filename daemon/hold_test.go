package daemon

import (
	"testing"
	"time"

	"culprit/daemon/measuring"
	"culprit/daemon/target"
	"culprit/grid"
)

// TestHoldFree: a target that somebody asks something is waited for, one that somebody works on is left out.
func TestHoldFree(t *testing.T) {
	d := wire(Options{}, &target.Session{Tree: grid.NewTree()})
	for range 3 {
		d.targets = append(d.targets, &measuring.Process{Target: &target.Target{}})
	}
	worked, asked := d.targets[0], d.targets[1]
	worked.Lock()
	began := time.Now()
	h := d.holdFree()
	if took := time.Since(began); took > 100*patience {
		t.Errorf("it waited %v for a target that somebody works on", took)
	}
	if h[worked] || !h[asked] || len(h) != 2 {
		t.Errorf("%d targets are locked", len(h))
	}
	h.release()
	worked.Unlock()
	asked.Lock()
	go asked.Unlock()
	if !lockUntil(asked, time.Now().Add(time.Minute)) {
		t.Error("a target that somebody only asked is left out")
	}
}
