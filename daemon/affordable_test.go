package daemon

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/daemon/libc"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestLittleMemory: a target that fills all memory that it maps gets little at first, in pieces that are small, and as much as hundreds
// of pairs need by and by; what is counted in the last step is as right as in the first, and all of it goes.
func TestLittleMemory(t *testing.T) {
	t.Parallel()
	require.Root(t)
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/lockall.c"), "lock")
	look, err := process.Look(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer look.Close()
	before, _ := look.Locked()
	d := attachTo(t, p.PID)
	tg := d.targets[0]
	at, _ := look.Locked()
	if at-before > segment.MostAtOnce+1<<20 || !tg.Seg.IsLittle() {
		t.Errorf("%d KiB are filled by the attach", (at-before)>>10)
	}
	islands := len(tg.Seg.Islands)
	var s sums
	libc := functionsOf(d, "exec_time_inclusive", func(f *program.Function) bool { return libc.IsC(f.Obj.Name) })
	on := enableAll(t, d, &s, libc[:min(len(libc), 1500)])
	last := nameOf(t, d, "procedure_calls", "work")
	d.mustEnable(t, &s, last)
	time.Sleep(500 * time.Millisecond)
	d.Disable(append(on, last))
	if s.of(last) < 100 {
		t.Errorf("%v calls of work counted", s.of(last))
	}
	if tg.Seg.Steps() < 2 || len(tg.Seg.Islands) <= islands {
		t.Errorf("%d pairs: %d steps, %d islands, at first %d", len(on), tg.Seg.Steps(), len(tg.Seg.Islands), islands)
	}
	most, _ := look.Locked()
	t.Logf("%d pairs: %d KiB at first, %d KiB at last, %d steps, %d islands, %v stopped", len(on), (at-before)>>10, (most-before)>>10,
		tg.Seg.Steps(), len(tg.Seg.Islands), d.session.Pauses.Total())
	detachClean(t, d, p.PID)
	if after, _ := look.Locked(); after > before+1<<20 {
		t.Errorf("%d KiB stay locked", (after-before)>>10)
	}
	p.Stop(t)
}

// TestFewMappings: a target with few mappings left gets none of ours, and is told why.
func TestFewMappings(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/manymaps.c"), "20")
	if err := segment.Affordable(p.PID); err == nil || !strings.Contains(err.Error(), "max_map_count") {
		t.Errorf("affordable: %v", err)
	}
	d, err := Attach(context.Background(), Options{Library: library(t), Log: func(s string) { t.Log(s) }, Backend: grid.BackendAuto}, p.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	tg := d.targets[0]
	if tg.Seg != nil || tg.Sampled() == nil || !strings.Contains(tg.WhySampled, "max_map_count") {
		t.Errorf("it has probes: %q", tg.WhySampled)
	}
	time.Sleep(300 * time.Millisecond)
	d.Detach()
	p.Stop(t)
}

// TestOwnerIsNotBelieved: a process that only is named as the culprit of another one is not signalled, nor taken for alive.
func TestOwnerIsNotBelieved(t *testing.T) {
	victim := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/sleeper.c"))
	for version := range 3 {
		p := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/fakehead.c"), string(rune('1'+version)), strconv.Itoa(victim.PID), strconv.Itoa(int(process.StartTime(victim.PID))), "16")
		if _, alive, found, err := segment.Owner(p.PID); alive || !found || err != nil {
			t.Errorf("version %d: alive %v, found %v, %v", version+1, alive, found, err)
		}
		if _, err := segment.EndOwner(p.PID); err == nil {
			t.Errorf("version %d: somebody was asked to end", version+1)
		}
		if _, err := target.Restore(p.PID); err != nil {
			t.Errorf("version %d: %v", version+1, err)
		}
		if v, err := patch.Verify(p.PID); err != nil || !v.Clean() {
			t.Errorf("version %d: %+v, %v", version+1, v, err)
		}
		p.Stop(t)
	}
	victim.MustBeat(t, 5*time.Second)
	victim.Stop(t)
}
