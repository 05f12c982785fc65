package consultant

import (
	"math"
	"math/rand"
	"testing"
)

// one is a hypothesis "m > 0.2" for windows made by hand.
func one() *hypothesis {
	return (&hypothesis{
		name: "one", greater: true, metrics: []string{"m"},
		value:     func(get func(string) float64) float64 { return get("m") },
		threshold: func(func(string) float64) float64 { return 0.2 },
	}).prepare(nil)
}

// sequence feeds bins of 0.2 s until the test concludes.
func sequence(h *hypothesis, next func() []float64) (conclusion, int) {
	var w window
	for i := 0; i < 200; i++ {
		t := float64(i) * 0.2
		w.add(binRow{start: t, end: t + 0.2, vals: next()})
		if c := conclude(w.estimate(h), w.width, Testing, 0.5); c.settled {
			return c, i + 1
		}
	}
	return conclusion{}, 200
}

func TestStudentTail(t *testing.T) {
	// One-sided quantiles from the usual tables.
	for _, c := range []struct{ t, df, want float64 }{
		{0, 5, 0.5}, {6.965, 2, 0.01}, {2.764, 10, 0.01}, {1.697, 30, 0.05}, {3.707, 6, 0.005}, {-2.764, 10, 0.99}, {1.645, 1e6, 0.05},
	} {
		if got := studentTail(c.t, c.df); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("studentTail(%g, %g) = %g, want %g", c.t, c.df, got, c.want)
		}
	}
	if got := studentTail(math.Inf(1), 3); got != 0 {
		t.Errorf("studentTail(inf) = %g", got)
	}
	if got := studentTail(math.NaN(), 3); got != 0.5 {
		t.Errorf("studentTail(NaN) = %g", got)
	}
}

func TestClearValuesConcludeFast(t *testing.T) {
	for _, c := range []struct {
		value float64
		holds bool
		most  int
	}{{0.9, true, 3}, {0.3, true, 8}, {0, false, 5}, {0.1, false, 8}} {
		got, bins := sequence(one(), func() []float64 { return []float64{c.value} })
		if got.holds != c.holds || bins > c.most || got.confidence < 0.99 || got.confidence >= 1 {
			t.Errorf("constant %g: %+v after %d bins", c.value, got, bins)
		}
	}
}

// A value on the threshold itself is decided after sufficientTime, with little confidence.
func TestOnTheThreshold(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	got, bins := sequence(one(), func() []float64 { return []float64{0.2 + 0.002*rng.NormFloat64()} })
	if bins != 30 || got.confidence > 0.981 || !got.settled {
		t.Errorf("%+v after %d bins, want an answer after 30 that is not sure", got, bins)
	}
}

// Over 1,000 runs near the threshold the wrong answers given with a confidence of at least c are at most a share of
// 1-c, for every c (three standard deviations are allowed for the chance in 1,000 runs).
func TestFalseAlarms(t *testing.T) {
	const runs = 1000
	noises := map[string]func(rng *rand.Rand) func() float64{
		"normal": func(rng *rand.Rand) func() float64 { return rng.NormFloat64 },
		"uniform": func(rng *rand.Rand) func() float64 {
			return func() float64 { return (rng.Float64() - 0.5) * math.Sqrt(12) }
		},
		"coins": func(rng *rand.Rand) func() float64 { return func() float64 { return float64(2*rng.Intn(2) - 1) } },
	}
	for name, source := range noises {
		for _, c := range []struct{ mean, sd float64 }{{0.196, 0.02}, {0.204, 0.02}, {0.18, 0.06}, {0.22, 0.06}, {0.1998, 0.1}, {0.2002, 0.1}} {
			if name == "uniform" && c.mean > 0.2 {
				continue // it is symmetric
			}
			var wrong []float64
			for seed := range int64(runs) {
				noise := source(rand.New(rand.NewSource(seed)))
				got, _ := sequence(one(), func() []float64 { return []float64{c.mean + c.sd*noise()} })
				if got.holds != (c.mean > 0.2) {
					wrong = append(wrong, got.confidence)
				}
			}
			checkAlarms(t, name, c.mean, c.sd, runs, wrong)
		}
	}
}

func checkAlarms(t *testing.T, name string, mean, sd float64, runs int, wrong []float64) {
	t.Helper()
	for _, level := range []float64{0.6, 0.75, 0.9, 0.95, 0.98, 0.99} {
		count := 0
		for _, w := range wrong {
			if w >= level {
				count++
			}
		}
		expected := (1 - level) * float64(runs)
		if limit := expected + 3*math.Sqrt(expected*level); float64(count) > limit {
			t.Errorf("%s noise, mean %g, sd %g: %d wrong answers that were at least %g sure, at most %.0f are promised", name, mean, sd, count, level, limit)
		}
	}
}

// Equal coins in a row look like a constant, far from the threshold even beyond the floor of the spread: only looking
// longer can help. A false answer, which nobody revisits, waits for five bins, which are equal in one run of 32.
func TestCoins(t *testing.T) {
	wrongFalse := 0
	for seed := range int64(1000) {
		rng := rand.New(rand.NewSource(seed))
		got, _ := sequence(one(), func() []float64 { return []float64{0.5 * float64(rng.Intn(2))} }) // mean 0.25
		if !got.holds && got.confidence >= 0.99 {
			wrongFalse++
		}
	}
	if wrongFalse > 60 {
		t.Errorf("%d of 1,000 fair coins were surely false", wrongFalse)
	}
}

// A series that resembles itself carries fewer independent samples than it has bins. The promise of errorBudget is one for
// independent bins; for a strongly correlated series (0.8) the correction about halves what it would be wrong without.
func TestCorrelatedNoise(t *testing.T) {
	wrong := 0
	for seed := range int64(1000) {
		rng := rand.New(rand.NewSource(seed))
		x := rng.NormFloat64()
		got, bins := sequence(one(), func() []float64 {
			x = 0.8*x + 0.6*rng.NormFloat64()
			return []float64{0.19 + 0.05*x}
		})
		if got.holds && bins < 30 {
			wrong++
		}
	}
	t.Logf("%d early false alarms of 1,000", wrong)
	if wrong > 90 {
		t.Errorf("%d early false alarms of 1,000", wrong)
	}
}

func TestHysteresis(t *testing.T) {
	h := one()
	fill := func(v float64, n int) *window {
		w := &window{}
		for i := range n {
			x := v + 0.001*float64(i%2)
			w.add(binRow{start: float64(i) * 0.2, end: float64(i)*0.2 + 0.2, vals: []float64{x}})
		}
		return w
	}
	w := fill(0.195, 30) // below the threshold, within the band
	if c := conclude(w.estimate(h), w.width, True, 0.5); c.settled && !c.holds {
		t.Error("a true node turned false within the band")
	}
	if c := conclude(w.estimate(h), w.width, Testing, 0.5); !c.settled || c.holds {
		t.Errorf("a new node with the same values: %+v", c)
	}
	w = fill(0.205, 30)
	if c := conclude(w.estimate(h), w.width, False, 0.5); c.settled && c.holds {
		t.Error("a false node turned true within the band")
	}
	w = fill(0.18, 30)
	if c := conclude(w.estimate(h), w.width, True, 0.5); !c.settled || c.holds {
		t.Errorf("a true node below the band: %+v", c)
	}
}

// A ratio is judged by what happened: bins in which nothing happened do not pull it down.
func TestRatioIgnoresIdleBins(t *testing.T) {
	h := (&hypothesis{
		name: "gc", greater: true, metrics: []string{"gc", "cpu"},
		value:     func(get func(string) float64) float64 { return ratio(get("gc"), get("cpu")) },
		threshold: func(func(string) float64) float64 { return 0.25 },
	}).prepare(nil)
	if h.additive() {
		t.Error("a ratio of two metrics at the focus was taken for a part of a whole")
	}
	i := 0
	c, _ := sequence(h, func() []float64 {
		if i++; i%5 != 0 {
			return []float64{0, 0}
		}
		return []float64{0.4, 1}
	})
	if !c.holds {
		t.Errorf("gc takes 40 %% of the little that is computed: %+v", c)
	}
}

// A test for a value that is too small must not hold where nothing happens, although x/0 is 0.
func TestNothingIsNotTooSmall(t *testing.T) {
	h := (&hypothesis{
		name: "small", metrics: []string{"bytes", "ops"},
		value:     func(get func(string) float64) float64 { return ratio(get("bytes"), get("ops")) },
		threshold: func(func(string) float64) float64 { return 4096 },
	}).prepare(nil)
	if c, _ := sequence(h, func() []float64 { return []float64{0, 0} }); !c.settled || c.holds {
		t.Errorf("no operations: %+v", c)
	}
	if c, _ := sequence(h, func() []float64 { return []float64{5120, 10} }); !c.holds {
		t.Errorf("512 bytes each: %+v", c)
	}
}

func TestScales(t *testing.T) {
	for name, c := range map[string]struct {
		metrics, global []string
		value           func(get func(string) float64) float64
		want            bool
	}{
		"share":   {[]string{"w", "n"}, []string{"n"}, func(g func(string) float64) float64 { return g("w") / max(g("n"), 1) }, true},
		"min":     {[]string{"w", "b", "n"}, []string{"n"}, func(g func(string) float64) float64 { return min(g("w"), g("b")) / max(g("n"), 1) }, true},
		"local n": {[]string{"w", "n"}, nil, func(g func(string) float64) float64 { return ratio(g("w"), g("n")) }, false},
		"rest":    {[]string{"a", "b"}, nil, func(g func(string) float64) float64 { return 2*g("a") - g("b") }, false},
		"global":  {[]string{"n"}, []string{"n"}, func(g func(string) float64) float64 { return g("n") }, false},
	} {
		h := (&hypothesis{name: name, greater: true, metrics: c.metrics, value: c.value}).prepare(c.global)
		if h.additive() != c.want {
			t.Errorf("%s: additive is %v, want %v", name, h.additive(), c.want)
		}
	}
}

func TestWindowDropsOtherWidths(t *testing.T) {
	var w window
	for i := range 40 {
		w.add(binRow{start: float64(i) * 0.2, end: float64(i+1) * 0.2, vals: []float64{1}})
	}
	if len(w.rows) != 30 {
		t.Errorf("%d bins of 0.2 s kept, want 30", len(w.rows))
	}
	w.add(binRow{start: 8, end: 11.2, vals: []float64{1}})
	if len(w.rows) != 1 || w.capacity() != 5 {
		t.Errorf("after a fold %d bins, capacity %d", len(w.rows), w.capacity())
	}
}

func TestHistoryFolds(t *testing.T) {
	var h history
	for i := range 5000 {
		h.add(float64(i), 2)
		if len(h.samples) > maxSamples {
			t.Fatalf("%d samples", len(h.samples))
		}
	}
	old := h.view()
	first := old[0]
	for i := range 5000 {
		h.add(float64(5000+i), 4)
	}
	if old[0] != first {
		t.Error("samples that were handed out changed")
	}
	v := h.view()
	if n := len(v); n < maxSamples/2-1 || n > maxSamples {
		t.Errorf("%d samples", n)
	}
	for i := 1; i < len(v); i++ {
		if v[i].At <= v[i-1].At {
			t.Fatalf("times do not grow at %d", i)
		}
	}
	if v[0].Value != 2 || v[len(v)-1].Value != 4 {
		t.Errorf("ends are %v and %v", v[0], v[len(v)-1])
	}
}
