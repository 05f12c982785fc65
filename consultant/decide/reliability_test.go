package decide

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
)

// A course is how the readings of a simulated node go: the next one, for a mean; and the mean of those after ten seconds.
type course func(rng *rand.Rand, mean float64) (next func() float64, later float64)

// correlated readings resemble the ones before them: the standard deviation is a part of the mean.
func correlated(rho, spread float64) course {
	return func(rng *rand.Rand, mean float64) (func() float64, float64) {
		x := rng.NormFloat64()
		return func() float64 {
			x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
			return max(0, mean*(1+spread*x))
		}, mean
	}
}

// bursts are readings that are twice the mean for a while, or nothing for a while.
func bursts(length float64) course {
	return func(rng *rand.Rand, mean float64) (func() float64, float64) {
		on := rng.Intn(2) == 0
		return func() float64 {
			if rng.Float64() < 1/length {
				on = !on
			}
			if on {
				return 2 * mean * (0.9 + 0.2*rng.Float64())
			}
			return 0
		}, mean
	}
}

// drifting readings go through the mean in the middle of the first ten seconds, from a tenth below it to a tenth above, or the other way round.
func drifting(rng *rand.Rand, mean float64) (next func() float64, later float64) {
	n, way := 0.0, float64(2*rng.Intn(2)-1)
	return func() float64 {
		n++
		return max(0, mean*(1+way*0.1*math.Min(n/25-1, 1)+0.2*rng.NormFloat64()))
	}, mean * (1 + way*0.1)
}

// decideOne reads until the test concludes, or a minute has passed.
func decideOne(next func() float64) (c Conclusion, seconds float64) {
	h, w, t := one(), Window{}, 0.0
	for t < 60 {
		w.Add(Bin{Start: t, End: t + 0.2, Values: []float64{next()}})
		t += 0.2
		if c = w.Estimate(h).Conclude(None, 0.5); c.Settled {
			return c, t
		}
	}
	return c, t
}

// families are kinds of programs.
var families = []struct {
	name string
	of   course
}{
	{"independent, calm", correlated(0, 0.1)}, {"independent", correlated(0, 0.4)}, {"independent, wild", correlated(0, 1)},
	{"correlated 0.3", correlated(0.3, 0.4)}, {"correlated 0.6", correlated(0.6, 0.4)}, {"correlated 0.9", correlated(0.9, 0.4)},
	{"correlated 0.9, calm", correlated(0.9, 0.1)},
	{"bursts of 0.4 s", bursts(2)}, {"bursts of 1 s", bursts(5)}, {"bursts of 2 s", bursts(10)}, {"drift", drifting},
}

// A tally counts answers that were at least as sure as levels say, and how many of them were wrong.
type tally struct {
	said, wrong [4]int
	late        int // after ten seconds
	all         int
}

var levels = [4]float64{0, 0.9, 0.95, 0.99}

func (y *tally) add(c Conclusion, seconds float64, holds bool) {
	if y.all++; !c.Settled || seconds > 10 {
		y.late++
	}
	for i, level := range levels {
		if c.Settled && c.Confidence >= level {
			if y.said[i]++; c.Holds != holds {
				y.wrong[i]++
			}
		}
	}
}

func (y *tally) String() string {
	text := fmt.Sprintf("late %.1f %%, ", 100*float64(y.late)/float64(y.all))
	for i, level := range levels {
		text += fmt.Sprintf(" | %2.0f %% sure: %5d, wrong %4.1f %%", 100*level, y.said[i], 100*float64(y.wrong[i])/math.Max(1, float64(y.said[i])))
	}
	return text
}

// Of the answers that say 90, 95 and 99 %, at most 10, 5 and 1 % are wrong, over 10,000 programs within a tenth of their threshold, and nearly all at a fifth from it are decided within ten seconds. A program whose bursts last for a third of the window is wrong
// more often by itself: nothing in the readings shows it.
func TestReliability(t *testing.T) {
	rng := rand.New(rand.NewSource(26))
	for _, far := range []float64{0.1, 0.2, 0.5} {
		var all tally
		for _, c := range families {
			var one tally
			for range 10_000 / len(families) {
				d := far * (2*rng.Float64() - 1)
				if far > 0.1 {
					d = math.Copysign(far, d)
				}
				next, _ := c.of(rng, 0.2*(1+d))
				got, seconds := decideOne(next)
				one.add(got, seconds, d > 0)
				all.add(got, seconds, d > 0)
			}
			t.Logf("%.1f %-20s %s", far, c.name, &one)
		}
		t.Logf("%.1f %-20s %s", far, "all", &all)
		for i, level := range levels[1:] {
			n := float64(all.said[i+1])
			if most := n * (1 - level); float64(all.wrong[i+1]) > most {
				t.Errorf("%.1f from the threshold: of %g answers that say %g %d are wrong", far, n, level, all.wrong[i+1])
			}
		}
		if far > 0.1 && all.late > all.all/10 {
			t.Errorf("%.1f from the threshold %d of %d are not decided within ten seconds", far, all.late, all.all)
		}
	}
}

// watched reads for a minute, and calls say with what is told at each of some times: as in a search, an answer stands until another one is concluded.
func watched(next func() float64, say func(c Conclusion)) {
	h, w, before, t := one(), Window{}, None, 0.0
	for n := 1; n <= 300; n++ {
		w.Add(Bin{Start: t, End: t + 0.2, Values: []float64{next()}})
		t += 0.2
		e := w.Estimate(h)
		c := e.Conclude(before, 0.5)
		switch {
		case !c.Settled:
			c = Conclusion{Settled: before != None, Holds: before == Yes, Confidence: e.SureOf(before)}
		case c.Holds:
			before = Yes
		default:
			before = No
		}
		if n%50 == 0 && n >= 100 {
			say(c)
		}
	}
}

// TestReliabilityUnderWatch: likewise of answers that are watched, 20 to 60 s after the test began. Then some say 99 %. What drifts has its later mean.
func TestReliabilityUnderWatch(t *testing.T) {
	for far, nodes := range map[float64]int{0.1: 10_000, 0.2: 2000, 0.5: 2000} {
		rng := rand.New(rand.NewSource(27))
		var all tally
		for _, c := range families {
			var one tally
			for range nodes / len(families) {
				d := far * (2*rng.Float64() - 1)
				if far > 0.1 {
					d = math.Copysign(far, d)
				}
				next, later := c.of(rng, 0.2*(1+d))
				watched(next, func(got Conclusion) {
					one.add(got, 0, later > 0.2)
					all.add(got, 0, later > 0.2)
				})
			}
			t.Logf("%.1f %-20s %s", far, c.name, &one)
		}
		t.Logf("%.1f %-20s %s", far, "all", &all)
		for i, level := range levels[1:] {
			n := float64(all.said[i+1])
			if most := n * (1 - level); n == 0 || float64(all.wrong[i+1]) > most {
				t.Errorf("%.1f from the threshold: of %g answers that say %g %d are wrong", far, n, level, all.wrong[i+1])
			}
		}
	}
}

// What is clear is said to be: that it holds after as long as it would be a burst; that it does not after as long as it would be rare.
func TestClearCasesAreSure(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, c := range []struct {
		value, seconds, least, most float64
	}{
		{0.9, 0.6, 0.8, 0.95}, {0.9, 1, 0.83, 0.97}, {0.9, 2, 0.9, 0.95}, {0.9, 3, 0.93, 0.97}, {0.9, 60, 0.99, 1},
		{0.01, 0.6, 0.58, 0.7}, {0.01, 1, 0.65, 0.8}, {0.01, 2, 0.75, 0.85}, {0.01, 3, 0.8, 0.9}, {0.01, 60, 0.98, 0.99}, {0.01, 600, 0.998, 1},
		{0.3, 6, 0.96, 0.98}, {0.1, 6, 0.85, 0.9}, {0.21, 6, 0.5, 0.95},
	} {
		var w Window
		next, _ := correlated(0, 0.1)(rng, c.value)
		for i := range int(math.Round(c.seconds / 0.2)) {
			w.Add(Bin{Start: float64(i) * 0.2, End: float64(i+1) * 0.2, Values: []float64{next()}})
			w.Estimate(one()) // as with each reading
		}
		if got := w.Estimate(one()).Confidence(); got < c.least || got > c.most {
			t.Errorf("%g for %g s, threshold 0.2: %.3f sure", c.value, c.seconds, got)
		}
	}
}
