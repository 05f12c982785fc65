package sampling

import (
	"testing"

	"culprit/pcl"
)

// Functions of a server: it waits for commands, executes them, and waits for a row deep within that.
const (
	fMain pcl.FuncID = iota + 1
	fLoop
	fRead
	fExecute
	fUpdate
	fWait
	fDispatch
	fTimers
)

// TestWorksWithin: of two ways to wait, the one below a function that also runs is within work; an event loop that waits itself is not, nor is one
// of another kind of thread, nor anything before there are samples.
func TestWorksWithin(t *testing.T) {
	idle := []pcl.FuncID{fMain, fLoop, fRead}
	row := []pcl.FuncID{fMain, fLoop, fExecute, fUpdate, fWait}
	events := []pcl.FuncID{fMain, fLoop, fDispatch}
	for _, c := range []struct {
		what        string
		ran         map[pcl.FuncID]float64
		path, other []pcl.FuncID
		want        bool
	}{
		{"a row", map[pcl.FuncID]float64{fMain: 10, fLoop: 10, fExecute: 9, fRead: 1}, row, idle, true},
		{"the next command", map[pcl.FuncID]float64{fMain: 10, fLoop: 10, fExecute: 9, fRead: 1}, idle, row, false},
		{"stacks that were cut off below main", map[pcl.FuncID]float64{fExecute: 9, fRead: 1}, row, idle, true},
		{"work in both", map[pcl.FuncID]float64{fMain: 10, fLoop: 10, fExecute: 5, fRead: 5}, row, idle, false},
		{"no samples", nil, row, idle, false},
		{"few samples", map[pcl.FuncID]float64{fMain: 2, fExecute: 2}, row, idle, false},
		{"an event loop", map[pcl.FuncID]float64{fMain: 10, fLoop: 10, fDispatch: 9}, events, []pcl.FuncID{fMain, fLoop, fTimers}, false},
		{"another thread", map[pcl.FuncID]float64{fMain: 10, fLoop: 10, fExecute: 9}, row, []pcl.FuncID{fTimers, fRead}, false},
		{"a loop that waits itself", map[pcl.FuncID]float64{fMain: 10, fLoop: 10, fExecute: 9}, row, []pcl.FuncID{fMain, fLoop}, true},
		{"no frames", nil, nil, nil, false},
	} {
		var k Counts
		k.kinds[CPU].functions = c.ran
		if got := k.worksWithin(c.path, c.other); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

// TestWaitPaths: ways to wait are remembered once, and the one that was not seen for longest is forgotten.
func TestWaitPaths(t *testing.T) {
	var r requests
	for i := range pcl.FuncID(maxPaths) {
		if others := r.note([]pcl.FuncID{i}, float64(i)); len(others) != int(i) {
			t.Fatalf("%d other ways after %d", len(others), i)
		}
	}
	if others := r.note([]pcl.FuncID{0}, 100); len(others) != maxPaths-1 || len(r.paths) != maxPaths {
		t.Errorf("%d others of %d", len(others), len(r.paths))
	}
	r.note([]pcl.FuncID{maxPaths}, 101)
	if n := len(r.paths); n != maxPaths || r.paths[0].functions[0] != 0 || r.paths[1].functions[0] != 2 {
		t.Errorf("%d are left, %v", n, r.paths[:2])
	}
}
