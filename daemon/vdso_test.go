package daemon

import (
	"slices"
	"testing"
	"time"

	"culprit/daemon/measuring"
	"culprit/daemon/process"
	"culprit/grid"
	"culprit/internal/testprog"
)

// TestStacksThroughTheVdso: a thread that is in the kernel's code for reading the clock when probes come is known to be inside the
// functions that have called it.
func TestStacksThroughTheVdso(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/clock.c"))
	d := attachTo(t, p.PID)
	p.Say(t, "go")
	p.MustBeat(t, 5*time.Second)
	if !unwindsVdso(d.targets[0]) {
		t.Fatal("no vdso")
	}
	k := key(t, "exec_time_inclusive", "/Code/clock.c/main")
	const rounds = 20
	for i := range rounds {
		var s sums
		d.mustEnable(t, &s, k)
		time.Sleep(20 * time.Millisecond)
		d.Disable([]grid.PairKey{k})
		if s.of(k) < 0.015 {
			t.Errorf("round %d: %.4f s in main", i, s.of(k))
		}
		d.Settle()
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// unwindsVdso reports whether the target has a vdso and the tables of it are known.
func unwindsVdso(t *measuring.Process) bool {
	maps, err := t.Proc.Maps()
	i := slices.IndexFunc(maps, func(m process.Mapping) bool { return m.Path == "[vdso]" })
	if err != nil || i < 0 {
		return false
	}
	tables, bias := t.TablesAt(uint64(maps[i].Start))
	return tables != nil && bias == uint64(maps[i].Start)
}
