package prior

import (
	"slices"
	"strings"
	"testing"

	"culprit/grid"
)

// name leaves the numbers in braces out.
func name(f grid.Focus) (string, bool) {
	text := f.String()
	short := text
	for strings.Contains(short, "{") {
		i, j := strings.Index(short, "{"), strings.Index(short, "}")
		short = short[:i] + short[j+1:]
	}
	return short, short == text
}

func code(function string) grid.Focus { return grid.Whole().Refine(grid.Code, "a.c", function) }

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		holds            bool
		value, threshold float64
		greater          bool
		confidence       float64
		want             Answer
	}{
		{true, 0.7, 0.2, true, 0.99, Held}, {true, 0.7, 0.2, true, 0.5, Unsure}, {false, 0.1, 0.2, true, 0.99, RuledOut}, {false, 0.11, 0.2, true, 0.99, Unsure},
		{false, 0.01, 0.2, true, 0.6, Unsure}, {false, 9000, 4096, false, 0.99, RuledOut}, {false, 5000, 4096, false, 0.99, Unsure},
	} {
		if got := Judge(c.holds, c.value, c.threshold, c.greater, c.confidence); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// What held is named by what it was refined from, over places that did not hold; what has numbers of a run is known by its name alone.
func TestHeld(t *testing.T) {
	p := New(true, name)
	thread := grid.Whole().Refine(grid.Process, "srv{7}")
	whole := p.Add(Place{Hypothesis: "h", Focus: grid.Whole(), Answer: Held})
	mid := p.Add(Place{Hypothesis: "h", Focus: code("mid"), Answer: Unsure, From: []int{whole}})
	p.Add(Place{Hypothesis: "h", Focus: thread, Answer: Held, From: []int{whole}})
	p.Add(Place{Hypothesis: "h", Focus: code("deep"), Answer: Held, From: []int{mid, mid, 99, -1}})
	held := p.Held()
	if len(held) != 2 || held[1].Focus != code("deep") || !slices.Equal(held[1].From, []int{0}) {
		t.Fatalf("held %+v", held)
	}
	if got := p.Of("h", grid.Whole().Refine(grid.Process, "srv{8}")); got != Held {
		t.Errorf("the process of another run: %v", got)
	}
	if got := p.Of("g", code("deep")); got != Unsure {
		t.Errorf("another hypothesis: %v", got)
	}
	if held, ruledOut := p.Count(); held != 2 || ruledOut != 0 {
		t.Errorf("%d held, %d were ruled out", held, ruledOut)
	}
	var none *Prior
	if none.Of("h", code("deep")) != Unsure || none.IsSame() || len(none.Held()) != 0 {
		t.Error("nil knows something")
	}
}

// Of two places with one name the one that held counts, and one that is unsure more than one that was ruled out.
func TestAdd(t *testing.T) {
	for _, c := range []struct{ a, b, want Answer }{{Held, RuledOut, Held}, {RuledOut, Held, Held}, {RuledOut, Unsure, Unsure}, {Unsure, RuledOut, Unsure}, {RuledOut, RuledOut, RuledOut}} {
		p := New(true, name)
		for i, answer := range []Answer{c.a, c.b} {
			p.Add(Place{Hypothesis: "h", Focus: grid.Whole().Refine(grid.Process, "srv{"+string(rune('1'+i))+"}"), Answer: answer})
		}
		if got := p.Of("h", grid.Whole().Refine(grid.Process, "srv{3}")); got != c.want {
			t.Errorf("%v and %v: %v, expected %v", c.a, c.b, got, c.want)
		}
	}
}

// What is looked for is asked about until it is found, every now and then, and for some seconds.
func TestFound(t *testing.T) {
	p := New(true, name)
	root := p.Add(Place{Hypothesis: "h", Focus: grid.Whole(), Answer: Held})
	p.Add(Place{Hypothesis: "h", Focus: code("f"), Answer: Held, From: []int{root}})
	f, asked := Seek[string](p), 0
	look := func(now float64, there bool) {
		f.Each(now, func(place Place, from []string) string {
			asked++
			if place.Focus.IsWhole() {
				return "root"
			}
			if len(from) != 1 || from[0] != "root" {
				t.Errorf("from %v", from)
			}
			if there {
				return "f"
			}
			return ""
		})
	}
	for _, c := range []struct {
		now   float64
		there bool
		asked int
	}{{0, false, 2}, {0.1, false, 2}, {0.3, false, 3}, {0.6, true, 4}, {0.9, true, 4}} {
		if look(c.now, c.there); asked != c.asked {
			t.Errorf("at %g s: asked %d times, expected %d", c.now, asked, c.asked)
		}
	}
	late := Seek[string](p)
	late.Each(11, func(Place, []string) string { t.Error("asked after ten seconds"); return "" })
}
