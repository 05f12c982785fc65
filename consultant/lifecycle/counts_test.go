package lifecycle

import "testing"

func TestCounts(t *testing.T) {
	var c Counts
	for _, s := range []State{Queued, Testing, Testing, Deferred, True, True, True, False, False, False, False, Never, Refused, OverBudget, Pruned} {
		c.Add(s)
	}
	if want := (Counts{Queued: 1, Testing: 2, Deferred: 1, True: 3, False: 4}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}
