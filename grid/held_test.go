package grid

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestHeldFolds: joined bins keep the mean by time and the extremes of both, whatever is missing.
func TestHeldFolds(t *testing.T) {
	nan := math.NaN()
	h := NewHistogram(0, SampledFunction)
	h.Hold(0, 0.2, Held{Mean: 4, Min: 1, Max: 19, Last: 2})
	h.Hold(0.2, 0.3, Held{Mean: 10, Min: -3, Max: 11, Last: 10}) // known for half a bin, so it weighs half
	h.Hold(0.6, 0.8, Held{Mean: 7, Min: 7, Max: 8, Last: 7})
	h.Hold(1.2, 1.4, Held{Mean: 5, Min: 0, Max: 6, Last: 3})
	check := func(when string, bins, low, high []float64) {
		t.Helper()
		l, u := h.Extremes()
		if !near(h.Bins(), bins, 1e-12) || !near(l, low, 0) || !near(u, high, 0) {
			t.Errorf("%s: %v, from %v to %v; want %v, from %v to %v", when, h.Bins(), l, u, bins, low, high)
		}
	}
	check("at first", []float64{4, 10, nan, 7, nan, nan, 5}, []float64{1, -3, nan, 7, nan, nan, 0}, []float64{19, 11, nan, 8, nan, nan, 6})
	h.Fold()
	check("folded", []float64{6, 7, nan, 5}, []float64{-3, 7, nan, 0}, []float64{19, 8, nan, 6})
	h.Fold()
	check("folded twice", []float64{6.4, 5}, []float64{-3, 0}, []float64{19, 6})
	if s := h.Stats(math.Inf(-1), math.Inf(1)); !nearly(s.Average, (4*0.2+10*0.1+7*0.2+5*0.2)/0.7, 1e-12) || s.Min != -3 || s.Max != 19 || h.Current() != 3 {
		t.Errorf("%+v, last %v", s, h.Current())
	}
}

// TestHeldSpansBins: an interval over several bins gives each of them its mean and its extremes.
func TestHeldSpansBins(t *testing.T) {
	h := NewHistogram(0, SampledFunction)
	h.Hold(0.1, 0.5, Held{Mean: 4, Min: 1, Max: 9, Last: 5})
	low, high := h.Extremes()
	if !near(h.Bins(), []float64{4, 4, 4}, 1e-12) || !near(low, []float64{1, 1, 1}, 0) || !near(high, []float64{9, 9, 9}, 0) {
		t.Errorf("%v from %v to %v", h.Bins(), low, high)
	}
	if s := h.Stats(0.2, 0.4); s.Min != 1 || s.Max != 9 || !nearly(s.Covered, 0.2, 1e-12) {
		t.Errorf("in the middle: %+v", s)
	}
	h.Hold(0.5, 0.6, Held{Mean: math.NaN()})
	h.Hold(0.5, 0.6, Held{Mean: 1, Max: math.Inf(1)})
	if h.FilledUntil() != 0.5 {
		t.Error("what is no number was taken")
	}
	counts := NewHistogram(0, EventCounter)
	if low, high := counts.Extremes(); low != nil || high != nil {
		t.Error("an EventCounter has extremes")
	}
}

// TestHeldAgainstLog compares with a log of all values, over so many intervals that the histogram folds.
func TestHeldAgainstLog(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	h := NewHistogram(0, SampledFunction)
	var area, known, now float64
	low, high := math.Inf(1), math.Inf(-1)
	var last float64
	for range 20_000 {
		if rng.IntN(10) == 0 {
			now += rng.Float64() // nothing is known
		}
		length, mean := 0.001+rng.Float64()/3, float64(rng.IntN(1000)-500)
		v := Held{Mean: mean, Min: mean - rng.Float64()*100, Max: mean + rng.Float64()*100, Last: mean}
		h.Hold(now, now+length, v)
		now += length
		area, known = area+mean*length, known+length
		low, high, last = min(low, v.Min), max(high, v.Max), v.Last
	}
	if h.Width() < 2*FinestWidth {
		t.Fatal("it has not folded")
	}
	s := h.Stats(math.Inf(-1), math.Inf(1))
	if !nearly(s.Average, area/known, 1e-9) || !nearly(s.Covered, known, 1e-6) || s.Min != low || s.Max != high || h.Current() != last {
		t.Errorf("got %+v last %v, want mean %v over %v s, from %v to %v, last %v", s, h.Current(), area/known, known, low, high, last)
	}
	c := h.Copy()
	l, u := c.Extremes()
	for i, mean := range c.Bins() {
		if mean < l[i] || mean > u[i] {
			t.Fatalf("bin %d has the mean %v and goes from %v to %v", i, mean, l[i], u[i])
		}
	}
}

// TestHeldInPhases: the histogram of a phase has the extremes of its own time, and so has one that begins in the past.
func TestHeldInPhases(t *testing.T) {
	p, g := testGrid()
	v := mustPair(t, "threads")
	g.Enable(v)
	for i := range 30 {
		p.mu.Lock()
		p.time = float64(i+1) * 0.2
		p.mu.Unlock()
		g.Hold(v, p.time-0.2, p.time, Held{Mean: float64(i), Min: float64(i) - 0.5, Max: float64(i) + 0.5, Last: float64(i)})
	}
	if _, err := g.StartPhaseAt("late", 4); err != nil {
		t.Fatal(err)
	}
	h, _ := g.Histogram(v, 1)
	if h.Min() != 19.5 || h.Max() != 29.5 || h.Current() != 29 {
		t.Errorf("from %v to %v, last %v", h.Min(), h.Max(), h.Current())
	}
	if s, _ := g.Pair(v); s.Min != -0.5 || s.Max != 29.5 || s.Current != 29 {
		t.Errorf("%+v", s)
	}
}

func TestCombineHeld(t *testing.T) {
	a, b := Held{2, 1, 4, 3}, Held{-1, -2, 0, 0}
	for op, want := range map[Aggregate]Held{Sum: {1, -1, 4, 3}, Avg: {0.5, -0.5, 2, 1.5}, Min: {-1, -2, 0, 0}, Max: {2, 1, 4, 3}} {
		if got := op.CombineHeld([]Held{a, b}); got != want {
			t.Errorf("%v: %+v, want %+v", op, got, want)
		}
	}
	if got := Sum.CombineHeld(nil); !math.IsNaN(got.Mean) || !math.IsNaN(got.Last) {
		t.Errorf("of none: %+v", got)
	}
}
