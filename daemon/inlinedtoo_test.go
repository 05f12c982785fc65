package daemon

import (
	"testing"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestInlinedToo: of a function that has code of its own and is inlined besides it is said in how many places; without DWARF nothing is known.
func TestInlinedToo(t *testing.T) {
	for _, flag := range []string{"-g", "-g0"} {
		p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/inlinedtoo.c", "-O2", flag))
		d := attachWith(t, callMetric("twos", "twice")+callMetric("mixes", "both")+callMetric("nevers", "never"), p.PID)
		var s sums
		for metric, want := range map[string]string{
			"twos": "twice is inlined at 2 places: those calls are not counted", "mixes": "both is inlined at 1 place: those calls are not counted", "nevers": "", "cpu": "",
		} {
			if flag == "-g0" {
				want = ""
			}
			k := key(t, metric, "/")
			d.mustEnable(t, &s, k)
			measured := d.InlinedToo(k)
			d.Disable([]grid.PairKey{k})
			if after := d.InlinedToo(k); measured != want || after != want {
				t.Errorf("%s: %q, afterwards %q, want %q", metric, measured, after, want)
			}
		}
		detachClean(t, d, p.PID)
		p.Stop(t)
	}
}
