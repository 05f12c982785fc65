package check_test

import (
	"slices"
	"strings"
	"testing"

	"culprit/pcl"
	"culprit/pcl/internal/cases"
)

// TestShares: a quotient of times is a part of a whole, and a metric of parts; other quotients and times are not.
func TestShares(t *testing.T) {
	for test, want := range map[string]bool{
		`cpu_inclusive / max(cpu@"/", 0.01) > 0.5`:                             true,
		`min(sync_wait_inclusive, blocked) / max(active_threads@"/", 1) > 0.5`: true,
		`min(io_wait_inclusive / max(active_threads@"/", 1), 1) > 0.5`:         true,
		`observed_cost > 0.5`:                true,
		`cpu_inclusive > 0.5`:                false,
		`cpu_inclusive / 2 > 0.5`:            false,
		`io_bytes / io_ops > 0.5`:            false,
		`procedure_calls / io_ops > 0.5`:     false,
		`100 * cpu_inclusive / io_ops > 0.5`: false,
	} {
		lib := cases.Load(t, "hypothesis Tested { test "+test+"; }")
		i := slices.IndexFunc(lib.Hypotheses(), func(h *pcl.Hypothesis) bool { return h.Name == "Tested" })
		if h := lib.Hypotheses()[i]; h.Share != want {
			t.Errorf("%s: %t", test, h.Share)
		}
	}
	for _, h := range cases.Load(t, "").Hypotheses() {
		if h.Share != strings.Contains(h.Label, "{percent}") {
			t.Errorf("%s: share %t, label %q", h.Name, h.Share, h.Label)
		}
	}
}
