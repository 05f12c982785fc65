package phases

import (
	"math"
	"math/rand"
)

// A level says what metrics are at a time, without noise.
type level func(t float64) []float64

// A noise adds to what a metric is.
type noise struct {
	name   string
	ar     float64 // correlation of neighbouring readings
	sd     float64
	bursts float64 // a second
	tails  bool    // no normal distribution: some values are far off
	coarse bool    // values in steps, as from stack samples
	least  float64 // the part of the changes that must be found after ten seconds, or so
}

// kinds are the kinds of noise.
var kinds = []noise{
	{name: "steady", least: 1, sd: 0.002},
	{name: "white", least: 0.99, sd: 0.1},
	{name: "ar 0.5", least: 0.95, ar: 0.5, sd: 0.1},
	{name: "ar 0.9", least: 0.9, ar: 0.9, sd: 0.1},
	{name: "ar 0.9, large", ar: 0.9, sd: 0.3},
	{name: "bursts", least: 0.6, sd: 0.03, bursts: 0.1},
	{name: "many bursts", sd: 0.03, bursts: 0.5},
	{name: "ar 0.9 and bursts", least: 0.4, ar: 0.9, sd: 0.1, bursts: 0.1},
	{name: "long tails", least: 0.95, sd: 0.1, tails: true},
	{name: "coarse", least: 0.8, sd: 0.2, coarse: true},
}

// A source makes readings of metrics.
type source struct {
	noise
	rng   *rand.Rand
	state []float64
	burst float64 // s; until when there is one
	size  []float64
}

func newSource(n noise, metrics int, seed int64) *source {
	s := &source{noise: n, rng: rand.New(rand.NewSource(seed)), state: make([]float64, metrics), size: make([]float64, metrics)}
	for m := range s.state {
		s.state[m] = s.rng.NormFloat64()
	}
	return s
}

// next are the values of a reading that ends at a time and lasts width.
func (s *source) next(l []float64, t, width float64) []float64 {
	if s.rng.Float64() < s.bursts*width && t > s.burst { // of 0.2 to 1.6 s
		s.burst = t + 0.2 + 1.4*s.rng.Float64()
		for m := range s.size {
			s.size[m] = s.rng.Float64() - 0.3
		}
	}
	out := make([]float64, len(l))
	for m := range l {
		e := s.rng.NormFloat64()
		if s.tails && s.rng.Float64() < 0.05 {
			e *= 5
		}
		s.state[m] = s.ar*s.state[m] + math.Sqrt(1-s.ar*s.ar)*e
		out[m] = l[m] + s.sd*s.state[m]
		if t < s.burst {
			out[m] += s.size[m]
		}
		if s.coarse {
			out[m] = math.Round(out[m]*5) / 5
		}
		out[m] = max(out[m], 0)
	}
	return out
}

// A told event is one with the time when it was told.
type told struct {
	Event
	told float64
}

// leasts are the least levels of the metrics in the tests.
var leasts = []float64{0.5, 0.5, 0.5, 0.5}

// play feeds a detector with readings of a program, and says what it found. Readings are as long as width, and not in step with ticks.
func play(n noise, l level, length, width float64, seed int64) (list []told) {
	d := New(leasts)
	s := newSource(n, len(leasts), seed)
	start := 0.07 + 0.1*s.rng.Float64()
	for t := start; t < length; t += width {
		end := t + width
		v := s.next(average(l, t, end), end, width)
		for m := range v {
			for _, e := range d.Add(m, t, end, v[m]) {
				list = append(list, told{e, end})
			}
		}
	}
	return list
}

// average is the level over a reading.
func average(l level, a, b float64) []float64 {
	const parts = 8
	out := make([]float64, len(leasts))
	for i := range parts {
		for m, v := range l(a + (b-a)*(float64(i)+0.5)/parts) {
			out[m] += v / parts
		}
	}
	return out
}

// steady is one phase.
func steady(float64) []float64 { return []float64{0.8, 0.1, 0.02, 1} }

// step is a program that computes until a time and then waits for input and output.
func step(at float64) level {
	return func(t float64) []float64 {
		if t < at {
			return []float64{1, 0, 0.02, 1}
		}
		return []float64{0.1, 0, 0.9, 1}
	}
}

// turns is a program that computes and writes in turns.
func turns(compute, write float64) level {
	return func(t float64) []float64 {
		if math.Mod(t, compute+write) < compute {
			return []float64{1, 0, 0.02, 1}
		}
		return []float64{0.1, 0, 0.9, 1}
	}
}

func boundaries(list []told) (out []told) {
	for _, e := range list {
		if e.Kind == Boundary {
			out = append(out, e)
		}
	}
	return out
}
