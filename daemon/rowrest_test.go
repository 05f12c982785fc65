package daemon

import (
	"testing"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestRowsRest: while nobody reads rows the kernel keeps none; who reads them afterwards has what is true from then on.
func TestRowsRest(t *testing.T) {
	if err := threadstats.Missing(); err != nil {
		require.Skip(t, err.Error())
	}
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/cpu.c"))
	d := attachTo(t, p.PID)
	cpu := key(t, "cpu_inclusive", "/Code/cpu.c/nearest")
	running := func() bool {
		d.lockAll()
		defer d.unlockAll()
		return d.common.Programs.Running()
	}
	for round := range rounds(2, 5) {
		var s sums
		enableTogether(t, d, &s, cpu)
		if !running() {
			t.Fatal("its probes read rows that nobody keeps")
		}
		before, err := kernel.ProcessTime(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		already := s.of(cpu)
		time.Sleep(2 * time.Second)
		after, err := kernel.ProcessTime(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		if d.Disable([]grid.PairKey{cpu}); round == 0 && !running() {
			t.Error("they rest at once")
		}
		ran := (after - before).Seconds()
		t.Logf("%.3f s of %.3f", s.of(cpu)-already, ran)
		if got := s.of(cpu) - already; got < 0.9*ran-0.05 || got > ran+0.05 {
			t.Errorf("round %d: %.3f s of processor time, the process used %.3f", round, got, ran)
		}
		for deadline := time.Now().Add(20 * time.Second); running(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("nobody reads rows, and they are kept")
			}
		}
	}
	p.Stop(t)
}
