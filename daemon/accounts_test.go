package daemon

import (
	"testing"
	"time"

	"culprit/daemon/selfcost"
	"culprit/daemon/targetstats"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestAccounts: the scheduler's accounts are in the rows while threads run for long at a time and timers of processor time read them, and not
// for threads that are switched all the time.
func TestAccounts(t *testing.T) {
	if err := threadstats.Missing(); err != nil {
		require.Skip(t, err.Error())
	}
	for _, c := range []struct {
		name, us string
		held     bool
	}{{"short", "100", false}, {"long", "20000", true}} {
		t.Run(c.name, func(t *testing.T) {
			p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/woken.c"), c.us)
			d := attachTo(t, p.PID)
			held := func() bool {
				d.lockAll()
				defer d.unlockAll()
				return d.common.Programs.FollowsAccounts()
			}
			k := nameOf(t, d, "cpu_inclusive", "answer")
			var s sums
			d.mustEnable(t, &s, k)
			time.Sleep(targetstats.LongRunsLinger + selfcost.LongestInterval)
			if held() != c.held {
				t.Errorf("a thread that runs for %s us at a time: the accounts are kept: %v", c.us, held())
			}
			d.Disable([]grid.PairKey{k})
			d.Settle()
			if held() {
				t.Error("they are kept for nobody")
			}
			detachClean(t, d, p.PID)
			p.Stop(t)
		})
	}
}
