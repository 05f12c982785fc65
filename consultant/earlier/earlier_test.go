package earlier

import (
	"slices"
	"testing"
)

func nodes(list []Answer) (out []int) {
	for _, a := range list {
		out = append(out, a.Node)
	}
	return out
}

func none(int) bool { return false }

func TestNewestFirst(t *testing.T) {
	var l List
	l.Add(Answer{Node: 5, From: 1, To: 20, Times: 1, Severity: 0.7}, 1, []int{1, 2})
	l.Add(Answer{Node: 9, From: 20, To: 60, Times: 1, Severity: 0.5}, 20, []int{1, 2})
	if got := nodes(l.All(none)); !slices.Equal(got, []int{9, 5}) {
		t.Errorf("%v", got)
	}
	if got := nodes(l.All(func(node int) bool { return node == 9 })); !slices.Equal(got, []int{5}) {
		t.Errorf("what holds again is told as earlier: %v", got)
	}
}

// What is above others is left out where they held for most of its time.
func TestParts(t *testing.T) {
	var l List
	l.Add(Answer{Node: 5, From: 1, To: 20, Severity: 0.7}, 1, []int{1, 2})
	l.Add(Answer{Node: 9, From: 20, To: 50, Severity: 0.7}, 20, []int{1, 2})
	l.Add(Answer{Node: 2, From: 1, To: 62, Severity: 0.7}, 1, []int{1})
	if got := nodes(l.All(none)); !slices.Equal(got, []int{9, 5}) {
		t.Errorf("the caller of two that held all the time: %v", got)
	}
	l.Add(Answer{Node: 2, From: 1, To: 500, Severity: 0.7}, 1, []int{1})
	if got := nodes(l.All(none)); !slices.Equal(got, []int{2, 9, 5}) {
		t.Errorf("the caller of two that held for a tenth of its time: %v", got)
	}
}

func TestHeldSeveralTimes(t *testing.T) {
	var l List
	if _, times := l.Before(5); times != 0 {
		t.Error("an empty list knows a node")
	}
	l.Add(Answer{Node: 5, From: 1, To: 20, Times: 1}, 1, nil)
	from, times := l.Before(5)
	l.Add(Answer{Node: 5, From: from, To: 60, Times: times + 1}, 40, nil)
	list := l.All(none)
	if len(list) != 1 || list[0].From != 1 || list[0].To != 60 || list[0].Times != 2 {
		t.Errorf("%+v", list)
	}
	if l.entries[0].held != 39 {
		t.Errorf("held for %g s", l.entries[0].held)
	}
}

// The ones that go had the least at stake for the shortest time.
func TestBounded(t *testing.T) {
	var l List
	for i := range 3 * Most {
		l.Add(Answer{Node: i, From: float64(i), To: float64(i + 1), Severity: float64(i%Most) / Most}, float64(i), nil)
	}
	list := l.All(none)
	if len(list) != Most {
		t.Fatalf("%d answers", len(list))
	}
	for _, a := range list {
		if a.Severity < 0.5 {
			t.Errorf("node %d, %g, was kept", a.Node, a.Severity)
		}
	}
}
