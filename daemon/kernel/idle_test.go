package kernel

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"culprit/internal/require"
)

// TestIdleShare has every processor compute for a while.
func TestIdleShare(t *testing.T) {
	cpus, err := OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) > runtime.NumCPU() {
		require.Skip(t, fmt.Sprintf("this test may use only %d processors of %v", runtime.NumCPU(), cpus))
	}
	var i Idle
	if share := i.Share(); share != 1 {
		t.Errorf("%.2f before there was anything to compare", share)
	}
	for range cpus {
		p := target(t, "cpu.c")
		defer p.Stop(t)
	}
	time.Sleep(time.Second)
	if share := i.Share(); share > 0.3 {
		t.Errorf("%.2f of the time nothing was done", share)
	}
}
