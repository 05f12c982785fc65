package daemon

import (
	"strconv"
	"testing"

	"culprit/daemon/target"
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
	if r, err := target.Restore(p.PID); err != nil || !r.Unmapped {
		t.Errorf("%+v, %v", r, err)
	}
	p.Stop(t)
}
