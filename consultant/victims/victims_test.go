package victims

import (
	"math"
	"testing"

	"culprit/grid"
)

// TestExplain: who waits for one that computes, or would if it had a CPU, is explained by it, and who waits for such a one as well; who waits for the disk, for a thread
// that does something else, or for a lock is not.
func TestExplain(t *testing.T) {
	wakes := func(function string, share, works float64) grid.Holder {
		return grid.Holder{Thread: "t", Function: function, Share: share, Works: works, Wakes: true}
	}
	list := []Finding{
		{Node: 2, Function: "a.c/produce", Holders: []grid.Holder{wakes("a.c/filter", 0.95, 0.2)}},
		{Node: 3, Function: "a.c/filter", Holders: []grid.Holder{wakes("a.c/parse", 0.95, 0.9)}},
		{Node: 4, Function: "a.c/parse", Computes: true},
		{Node: 5, Holders: []grid.Holder{wakes("", 1, 1)}},
		{Node: 6, Holders: []grid.Holder{wakes("a.c/parse", 0.5, 0.5), wakes("a.c/other", 0.5, 0.5)}},
		{Node: 7, Holders: []grid.Holder{{Thread: "t", Function: "a.c/parse", Share: 1}}},
		{Node: 8, Function: "a.c/rare", Computes: true, Note: true},
		{Node: 9, Holders: []grid.Holder{wakes("a.c/rare", 1, 1)}},
		{Node: 11, Holders: []grid.Holder{wakes("a.c/filter", 0.95, 0.6)}},               // it works more than it waits
		{Node: 10, Holders: []grid.Holder{wakes("a.c/parse", 1, 0.1)}},                   // it waits there for the disk
		{Node: 12, Stands: true, Holders: []grid.Holder{wakes("a.c/parse", 0.95, 0.9)}},  // as the one of node 3, but for a reason of its own
		{Node: 13, Phase: "load", Holders: []grid.Holder{wakes("a.c/parse", 0.95, 0.9)}}, // that one was not found in this phase
	}
	delayed := wakes("a.c/parse", 0.95, 0.1) // other programs have the CPUs
	delayed.Delayed = 0.85
	starved := delayed
	starved.Function = "a.c/serve" // which has too little of the CPUs to be found
	list = append(list, Finding{Node: 14, Holders: []grid.Holder{delayed}}, Finding{Node: 15, Holders: []grid.Holder{starved}},
		Finding{Node: 16, Starves: true}, Finding{Node: 17, Phase: "load", Holders: []grid.Holder{starved}})
	feeds := wakes("a.c/write", 0.95, 0.9) // it computes elsewhere, and who waits for it waits for all that it does
	feeds.Thread, feeds.Wholly = "main", 0.9
	holds := feeds // it has a lock
	holds.Wholly = 0
	list = append(list, Finding{Node: 18, Function: "a.c/hash", Computes: true, Holders: []grid.Holder{{Thread: "main", Computes: true, Share: 0.9}}},
		Finding{Node: 19, Holders: []grid.Holder{feeds}}, Finding{Node: 20, Holders: []grid.Holder{holds}})
	list = append(list, Finding{Node: 21, Holders: []grid.Holder{{Thread: grid.EndedProcesses, Share: 0.9, Wakes: true}}},
		Finding{Node: 22, Computes: true, Ended: true}, Finding{Node: 23, Phase: "load", Holders: []grid.Holder{{Thread: grid.EndedProcesses, Share: 0.9, Wakes: true}}})
	copies := wakes("a.c/report", 0.95, 0.9) // the thread computes in a function of a library, which the program's calls
	copies.Wholly = 0.85
	guards := wakes("a.c/report", 0.95, 0.9) // it has a lock
	list = append(list, Finding{Node: 24, Function: "libc.so.6/memcpy", Own: "a.c/report", Computes: true}, Finding{Node: 25, Holders: []grid.Holder{copies}},
		Finding{Node: 26, Holders: []grid.Holder{guards}})
	Explain(list)
	for i, want := range []int{3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 16, 0, 0, 0, 18, 0, 22, 0, 0, 0, 24, 0} {
		if f := list[i]; f.By != want {
			t.Errorf("node %d is explained by %d, want %d", f.Node, f.By, want)
		}
	}
}

// The stakes of those who wait are those of who computes, also over one that waits itself; not those of nobody's.
func TestStakes(t *testing.T) {
	wakes := func(function string) []grid.Holder {
		return []grid.Holder{{Thread: "t", Function: function, Share: 0.95, Works: 0.2, Wakes: true}}
	}
	works := func(function string) []grid.Holder {
		return []grid.Holder{{Thread: "t", Function: function, Share: 0.95, Works: 0.9, Wakes: true}}
	}
	list := []Finding{
		{Node: 2, Function: "a.c/produce", Stake: 0.3, Holders: wakes("a.c/filter")}, {Node: 3, Function: "a.c/filter", Stake: 0.3, Holders: works("a.c/parse")},
		{Node: 4, Function: "a.c/parse", Computes: true, Stake: 0.2}, {Node: 5, Stake: 0.1, Holders: works("a.c/other")},
		{Node: 6, Function: "a.c/hash", Computes: true, Stake: 0.4}, {Node: 7, Stake: 0.7, Holders: works("a.c/hash")}, {Node: 8, Computes: true, Stake: 0.05},
	}
	Explain(list)
	for i, want := range []float64{0.3, 0.3, 0.8, 0.1, 1, 0.7, 0.05} {
		if got := list[i].Stake; math.Abs(got-want) > 1e-9 {
			t.Errorf("node %d has %g at stake, expected %g", list[i].Node, got, want)
		}
	}
}
