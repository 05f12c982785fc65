package consultant

import (
	"strings"
	"testing"

	"culprit/consultant/decide"
	"culprit/grid"
)

// TestToldBeside: a hypothesis that is tested at one kind of place only is told along with what its parent found there, and advises instead
// of it.
func TestToldBeside(t *testing.T) {
	for at, where := range map[string]func(grid.Focus) bool{
		"whole":  grid.Focus.IsWhole,
		"object": func(f grid.Focus) bool { return f.Depth(grid.SyncObject) == 2 },
	} {
		m := newModel(activity{stack: []string{"main", "lookup"}, kind: "sync", object: []string{"Mutex", "cache_lock"}, rate: always(0.8)})
		r := newRig(t, m)
		list, parents := shipped()
		list, parents = list[1:2], parents[1:2]
		sub := &hypothesis{Name: "Reason", Label: "each wait is short", At: at, Why: true, Where: true}
		test := decide.NewTest([]string{"sync_wait_inclusive", "blocked"}, []string{"blocked"}, true,
			func(get func(string) float64) float64 { return ratio(get("sync_wait_inclusive"), get("blocked")) },
			func(func(string) float64) float64 { return 0.7 }).
			Staking(func(get func(string) float64) float64 { return get("sync_wait_inclusive") })
		list, parents = append(list, sub.With(test)), append(parents, list[0].Name)
		cells := r.s.cells
		r.s = newSearch(r.s.cfg, list, parents)
		r.s.readFrom(cells)
		r.runUntil(30, "settled", r.s.Settled)
		for _, n := range r.s.Nodes() {
			if n.Hypothesis == "Reason" && !where(n.Focus) {
				t.Errorf("%s: tested at %v", at, n.Focus)
			}
		}
		found := r.s.Bottlenecks()
		if len(found) != 1 || found[0].Why != "Reason" || !strings.Contains(found[0].Sentence, "in lookup (a.c:41). Each wait is short. ") {
			r.dump()
			t.Errorf("%s: %d findings: %+v", at, len(found), found)
		}
	}
}
