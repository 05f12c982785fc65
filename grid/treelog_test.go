package grid

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTreeLog changes a tree at random and makes the same changes to a copy, of which part was there when the log began.
func TestTreeLog(t *testing.T) {
	tree, copied := NewTree(), NewTree()
	var log *TreeLog
	for i := range 2000 {
		h, path := Hierarchy(rand.N(3)), []string{fmt.Sprint(rand.N(5)), fmt.Sprint(rand.N(20))}
		path = path[:1+rand.N(2)]
		switch rand.N(4) {
		case 0:
			tree.Retire(h, path...)
		case 1:
			_ = tree.SetLabel(fmt.Sprint("label ", rand.N(3)), h, path...) // there need not be one
		case 2:
			tree.Touch()
		default:
			add(t, tree, h, path...)
		}
		if i == 500 {
			log = tree.Log()
		}
		if log == nil || rand.N(50) > 0 {
			continue
		}
		for events := log.Take(7); len(events) > 0; events = log.Take(7) {
			for _, e := range events {
				if err := copied.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		sameTrees(t, tree, copied)
	}
	v := copied.Version()
	if copied.Apply(TreeEvent{Change: TreeTouched}); copied.Version() == v {
		t.Error("a touch was lost")
	}
}

func sameTrees(t *testing.T, a, b *Tree) {
	t.Helper()
	for h := range NumHierarchies {
		if !slices.Equal(a.Children(h), b.Children(h)) {
			t.Fatalf("children of %v: %q and %q", h, a.Children(h), b.Children(h))
		}
		for i := range 5 {
			e := fmt.Sprint(i)
			if !slices.Equal(a.Children(h, e), b.Children(h, e)) || a.Label(h, e) != b.Label(h, e) || a.Exists(h, e) != b.Exists(h, e) {
				t.Fatalf("%v/%s: %q %q, and %q %q", h, e, a.Children(h, e), a.Label(h, e), b.Children(h, e), b.Label(h, e))
			}
		}
	}
}
