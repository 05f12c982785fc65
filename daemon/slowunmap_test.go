package daemon

import (
	"slices"
	"strconv"
	"testing"

	"culprit/daemon/process"
	"culprit/internal/fault"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestSlowUnmapping: where one stop is not long enough to unmap all, on a machine with more to do than it can, the next one goes on.
func TestSlowUnmapping(t *testing.T) {
	require.Root(t)
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"))
	run(t, "segment.built:kill-self", "victim", strconv.Itoa(p.PID), "once")
	t.Cleanup(func() { _ = fault.Set("") })
	if err := fault.Set("detach.unmap:sleep"); err != nil {
		t.Fatal(err)
	}
	if r, err := Restore(p.PID); err != nil || !r.Unmapped {
		t.Errorf("%+v, %v", r, err)
	}
	p.Stop(t)
}

// TestJoined unmaps what lies side by side with one call, in the order given: the head, which leads to the rest, comes last.
func TestJoined(t *testing.T) {
	at := func(lo, hi process.Addr) process.Mapping { return process.Mapping{Start: lo, End: hi} }
	got := joined([]process.Mapping{at(0x5000, 0x6000), at(0x6000, 0x9000), at(0xa000, 0xb000), at(0x4000, 0x5000)})
	want := []process.Mapping{at(0x5000, 0x9000), at(0xa000, 0xb000), at(0x4000, 0x5000)}
	if !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
