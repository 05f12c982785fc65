package kernel

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// TestIdleShare has every processor compute for a while.
func TestIdleShare(t *testing.T) {
	cpus, err := OnlineCPUs()
	if err != nil || len(cpus) > runtime.NumCPU() {
		t.Skipf("this test may not use all processors: %d of %v, %v", runtime.NumCPU(), cpus, err)
	}
	if _, err := os.Stat("/proc/uptime"); err != nil {
		t.Fatal(err)
	}
	var i Idle
	i.Share()
	for range cpus {
		p := target(t, "cpu.c")
		defer p.Stop(t)
	}
	time.Sleep(time.Second)
	if share := i.Share(); share > 0.3 {
		t.Errorf("%.2f of the time nothing was done", share)
	}
	if share := i.Share(); share != 1 {
		t.Errorf("%.2f of no time", share)
	}
}
