package consultant

import (
	"testing"

	"culprit/grid"
)

// TestExplainWaits: who waits for one that computes is explained by it, and who waits for such a one as well; who waits for the disk, for a thread
// that does something else, or for a lock is not.
func TestExplainWaits(t *testing.T) {
	wakes := func(function string, share, works float64) grid.Holder {
		return grid.Holder{Thread: "t", Function: function, Share: share, Works: works, Wakes: true}
	}
	list := []Bottleneck{
		{Node: 2, Kind: "io", Holders: []grid.Holder{wakes("a.c/filter", 0.95, 0.2)}},
		{Node: 3, Kind: "io", Holders: []grid.Holder{wakes("a.c/parse", 0.95, 0.9)}},
		{Node: 4, Kind: "cpu"},
		{Node: 5, Kind: "io", Holders: []grid.Holder{wakes("", 1, 1)}},
		{Node: 6, Kind: "sync", Holders: []grid.Holder{wakes("a.c/parse", 0.5, 0.5), wakes("a.c/other", 0.5, 0.5)}},
		{Node: 7, Kind: "sync", Holders: []grid.Holder{{Thread: "t", Function: "a.c/parse", Share: 1}}},
		{Node: 8, Kind: "cpu", Note: true},
		{Node: 9, Kind: "io", Holders: []grid.Holder{wakes("a.c/rare", 1, 1)}},
		{Node: 11, Kind: "io", Holders: []grid.Holder{wakes("a.c/filter", 0.95, 0.6)}},                // it works more than it waits
		{Node: 10, Kind: "sync", Holders: []grid.Holder{wakes("a.c/parse", 1, 0.1)}},                  // it waits there for the disk
		{Node: 12, Kind: "sync", stands: true, Holders: []grid.Holder{wakes("a.c/parse", 0.95, 0.9)}}, // as the one of node 3, but for a reason of its own
	}
	explainWaits(list, []string{"a.c/produce", "a.c/filter", "a.c/parse", "", "", "", "a.c/rare", "", "", "", ""})
	for i, want := range []int{3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0} {
		if b := list[i]; b.Explained != want || b.Note != (want != 0 || b.Node == 8) {
			t.Errorf("node %d is explained by %d, want %d; a note: %v", b.Node, b.Explained, want, b.Note)
		}
	}
}
