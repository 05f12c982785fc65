package later

import (
	"strconv"
	"testing"

	"culprit/grid"
)

func lock(i int) grid.Focus { return grid.Whole().Refine(grid.SyncObject, "Mutex", strconv.Itoa(i)) }

// TestSteady: what is there at two looks in a row is steady, and of very many foci few are remembered.
func TestSteady(t *testing.T) {
	var w Way
	var many []grid.Focus
	for i := range 2000 {
		many = append(many, lock(i))
	}
	if got := w.Steady(many); len(got) != 0 {
		t.Errorf("%d are steady at the first look", len(got))
	}
	if got := w.Steady(many); len(got) != remembers || !got[lock(0)] || len(w.once) != remembers {
		t.Errorf("%d are steady at the second look, %d remembered", len(got), len(w.once))
	}
	w.Steady(nil)
	if got := w.Steady(many); len(got) != 0 {
		t.Errorf("%d are steady after they were gone", len(got))
	}
}

// TestOverdue: a way that has led to something is looked at less often.
func TestOverdue(t *testing.T) {
	w := Way{At: 10}
	for now, want := range map[float64][2]bool{10.5: {false, false}, 11: {true, false}, 14.9: {true, false}, 15: {true, true}} {
		if got := [2]bool{w.Overdue(now, false) >= 1, w.Overdue(now, true) >= 1}; got != want {
			t.Errorf("at %g: due %v, want %v", now, got, want)
		}
	}
}

// TestWalk: what is found later has appeared since the look before, or since the one before that, if there were any.
func TestWalk(t *testing.T) {
	w := &Way{At: 3}
	for _, c := range [][3]float64{{5, 0, 0}, {6, 5, 0}, {9, 6, 5}} {
		if looked, last := w.Walk(c[0]); looked != c[1] || last != c[2] || w.At != c[0] {
			t.Errorf("at %g: %g and %g, want %g and %g", c[0], looked, last, c[1], c[2])
		}
	}
}
