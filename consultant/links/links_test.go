package links

import (
	"slices"
	"testing"
)

func itself(n int) int { return n }

// TestLists: a list stays in order, and a thing is in it once.
func TestLists(t *testing.T) {
	var list []int
	for _, n := range []int{5, 1, 9, 3} {
		list = Toggle(list, n, itself, true)
	}
	list = Insert(Insert(list, 3, itself), 4, itself)
	list = Toggle(list, 5, itself, false)
	if want := []int{1, 3, 4, 9}; !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
}

// TestWalk: each thing is visited once also where ways meet and close circles, and none beyond where a visit stops.
func TestWalk(t *testing.T) {
	next := map[int][]int{1: {2, 3}, 2: {4}, 3: {4}, 4: {1, 5}, 5: {6}}
	var seen []int
	Walk(1, func(n int) bool { seen = append(seen, n); return n != 5 }, func(n int) []int { return next[n] })
	if slices.Sort(seen); !slices.Equal(seen, []int{1, 2, 3, 4, 5}) {
		t.Errorf("visited %v", seen)
	}
}

// TestMark: what is marked already is not gone through again.
func TestMark(t *testing.T) {
	next := map[int][]int{1: {2, 3}, 2: {4}, 3: {5}, 5: {1}}
	marked := map[int]bool{3: true}
	Mark(1, marked, func(n int) []int { return next[n] })
	if !marked[2] || !marked[4] || marked[1] || marked[5] {
		t.Errorf("marked %v", marked)
	}
}

// TestNearest: those of a kind come in the order of their steps, each once, also where ways meet and close circles.
func TestNearest(t *testing.T) {
	next := map[int][]int{1: {2, 3}, 2: {4}, 3: {6, 4}, 4: {8}, 8: {1}}
	up := func(n int) []int { return next[n] }
	for over, want := range map[int][]int{3: {4, 6, 8}, 6: {8}, 2: {3, 4, 6, 8}, 8: nil} {
		if got := Nearest(1, func(n int) bool { return n > over }, up); !slices.Equal(got, want) {
			t.Errorf("above %d: %d; want %d", over, got, want)
		}
	}
}

func TestParents(t *testing.T) {
	got, err := Parents([]string{"a", "b", "c"}, []string{"", "a", "top"}, "top")
	if err != nil || !slices.Equal(got, []int{-1, 0, -1}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range [][2][]string{{{"a", "a"}, {"", ""}}, {{"a"}, {"x"}}, {{"a", "b"}, {"b", "a"}}} {
		if got, err := Parents(bad[0], bad[1], "top"); err == nil {
			t.Errorf("%v: %v and no error", bad, got)
		}
	}
}

// TestSome: one that is of the kind is remembered, and that there is none until something changes or time passes.
func TestSome(t *testing.T) {
	list, wanted, looks := []int{1, 2, 3}, 2, 0
	is := func(n int) bool { looks++; return n == wanted }
	var s Some[int]
	for i, step := range []struct {
		now    float64
		change bool
		wanted int
		want   bool
		looks  int
	}{
		{1, false, 2, true, 2},
		{1, false, 2, true, 1},
		{1, false, 9, false, 4},
		{1, false, 1, false, 0},
		{2, false, 1, true, 1},
		{2, false, 9, false, 4},
		{2, true, 3, true, 3},
	} {
		if looks, wanted = 0, step.wanted; step.change {
			s.Changed()
		}
		if got := s.Exists(list, step.now, is); got != step.want || looks != step.looks {
			t.Errorf("step %d: %v after %d looks, want %v after %d", i, got, looks, step.want, step.looks)
		}
	}
}

// TestNearestOfMany: a hundred things in a row and a hundred beside each other are each met once, in the fewest steps.
func TestNearestOfMany(t *testing.T) {
	next := func(n int) (to []int) {
		if n < 100 {
			to = append(to, n+1, n+2, 1000+n)
		}
		return to
	}
	got := Nearest(0, func(n int) bool { return n%10 == 0 || n >= 1000 }, next)
	seen, steps := map[int]bool{}, func(n int) int { return (n%1000 + 1) / 2 }
	for i, n := range got {
		if seen[n] {
			t.Errorf("%d twice", n)
		}
		if seen[n] = true; i > 0 && n < 1000 && got[i-1] < 1000 && steps(n) < steps(got[i-1]) {
			t.Errorf("%d behind %d", n, got[i-1])
		}
	}
	if len(got) != 10+100 {
		t.Errorf("%d are found: %v", len(got), got)
	}
}
