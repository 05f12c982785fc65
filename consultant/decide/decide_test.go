package decide

import (
	"math"
	"math/rand"
	"testing"
)

// one is a test "m > 0.2" for windows made by hand.
func one() *Test {
	return NewTest([]string{"m"}, nil, true, func(get func(string) float64) float64 { return get("m") }, limit(0.2))
}

func limit(v float64) Func { return func(func(string) float64) float64 { return v } }

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// sequence feeds bins of 0.2 s until the test concludes.
func sequence(h *Test, next func() []float64) (Conclusion, int) {
	var w Window
	for i := 0; i < 200; i++ {
		t := float64(i) * 0.2
		w.Add(Bin{Start: t, End: t + 0.2, Values: next()})
		if c := w.Estimate(h).Conclude(None, 0.5); c.Settled {
			return c, i + 1
		}
	}
	return Conclusion{}, 200
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
		if got.Holds != c.holds || bins > c.most || got.Confidence < 0.65 || got.Confidence >= 0.95 {
			t.Errorf("constant %g: %+v after %d bins", c.value, got, bins)
		}
	}
}

// A value on the threshold itself is decided after sufficientTime, with little confidence.
func TestOnTheThreshold(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	got, bins := sequence(one(), func() []float64 { return []float64{0.2 + 0.002*rng.NormFloat64()} })
	if bins != 30 || got.Confidence > 0.981 || !got.Settled {
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
				if got.Holds != (c.mean > 0.2) {
					wrong = append(wrong, got.Confidence)
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
		if !got.Holds && got.Confidence >= 0.99 {
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
		if got.Holds && bins < 30 {
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
	fill := func(v float64, n int) *Window {
		w := &Window{}
		for i := range n {
			x := v + 0.001*float64(i%2)
			w.Add(Bin{Start: float64(i) * 0.2, End: float64(i)*0.2 + 0.2, Values: []float64{x}})
		}
		return w
	}
	w := fill(0.195, 30) // below the threshold, within the band
	if c := w.Estimate(h).Conclude(Yes, 0.5); c.Settled && !c.Holds {
		t.Error("a true node turned false within the band")
	}
	if c := w.Estimate(h).Conclude(None, 0.5); !c.Settled || c.Holds {
		t.Errorf("a new node with the same values: %+v", c)
	}
	w = fill(0.205, 30)
	if c := w.Estimate(h).Conclude(No, 0.5); c.Settled && c.Holds {
		t.Error("a false node turned true within the band")
	}
	w = fill(0.18, 30)
	if c := w.Estimate(h).Conclude(Yes, 0.5); !c.Settled || c.Holds {
		t.Errorf("a true node below the band: %+v", c)
	}
}

// A ratio is judged by what happened: bins in which nothing happened do not pull it down.
func TestRatioIgnoresIdleBins(t *testing.T) {
	h := NewTest([]string{"gc", "cpu"}, nil, true,
		func(get func(string) float64) float64 { return ratio(get("gc"), get("cpu")) }, limit(0.25))
	if h.Additive() {
		t.Error("a ratio of two metrics at the focus was taken for a part of a whole")
	}
	i := 0
	c, _ := sequence(h, func() []float64 {
		if i++; i%5 != 0 {
			return []float64{0, 0}
		}
		return []float64{0.4, 1}
	})
	if !c.Holds {
		t.Errorf("gc takes 40 %% of the little that is computed: %+v", c)
	}
}

// A test for a value that is too small must not hold where nothing happens, although x/0 is 0.
func TestNothingIsNotTooSmall(t *testing.T) {
	h := NewTest([]string{"bytes", "ops"}, nil, false,
		func(get func(string) float64) float64 { return ratio(get("bytes"), get("ops")) }, limit(4096))
	if c, _ := sequence(h, func() []float64 { return []float64{0, 0} }); !c.Settled || c.Holds {
		t.Errorf("no operations: %+v", c)
	}
	if c, _ := sequence(h, func() []float64 { return []float64{5120, 10} }); !c.Holds {
		t.Errorf("512 bytes each: %+v", c)
	}
}

// TestAtTheThreshold: a size that is the limit is not below it, however the count of a bin's last operation falls.
func TestAtTheThreshold(t *testing.T) {
	for value, want := range map[float64]bool{4096: false, 4095.99: false, 4070: false, 4000: true, 16: true} {
		h := NewTest([]string{"bytes", "ops"}, nil, false,
			func(get func(string) float64) float64 { return ratio(get("bytes"), get("ops")) }, limit(4096))
		if c, _ := sequence(h, func() []float64 { return []float64{1000 * value, 1000} }); !c.Settled || c.Holds != want {
			t.Errorf("%g bytes: %+v, want %v", value, c, want)
		}
		if v, _, holds := h.Holds([]float64{1000 * value, 1000}); v != value || holds != want {
			t.Errorf("%g bytes at once: %g, %v, want %v", value, v, holds, want)
		}
	}
	more := NewTest([]string{"w"}, nil, true, func(get func(string) float64) float64 { return get("w") }, limit(0.2))
	if _, _, holds := more.Holds([]float64{0.2001}); !holds {
		t.Error("a share just above its threshold does not hold")
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
		h := NewTest(c.metrics, c.global, true, c.value, nil)
		if h.Additive() != c.want {
			t.Errorf("%s: additive is %v, want %v", name, h.Additive(), c.want)
		}
	}
}

// A window has the readings of the last six seconds, five at least.
func TestWindowLength(t *testing.T) {
	var w Window
	at := 0.0
	add := func(n int, width float64) {
		for range n {
			w.Add(Bin{Start: at, End: at + width, Values: []float64{1}})
			at += width
		}
	}
	for _, c := range []struct {
		n     int
		width float64
		want  int
	}{{40, 0.2, 30}, {1, 3.2, 15}, {2, 3.2, 5}, {5, 3.2, 5}} {
		if add(c.n, c.width); w.Len() != c.want {
			t.Errorf("after %d readings of %g s there are %d, want %d", c.n, c.width, w.Len(), c.want)
		}
	}
}

// Each reading counts for as long as it is, and is one sample.
func TestReadingsOfDifferentLengths(t *testing.T) {
	h := NewTest([]string{"m"}, nil, true, func(get func(string) float64) float64 { return get("m") }, limit(0.2))
	var w Window
	at := 0.0
	for _, r := range [][2]float64{{0.2, 1}, {0.2, 1}, {0.2, 1}, {0.2, 1}, {1.2, 0}} {
		w.Add(Bin{Start: at, End: at + r[0], Values: []float64{r[1]}})
		at += r[0]
	}
	e := w.Estimate(h)
	if math.Abs(e.Value-0.4) > 1e-9 || e.Bins != 5 || math.Abs(e.span-2) > 1e-9 {
		t.Errorf("%+v", e)
	}
	if c := e.Conclude(None, 0.5); c.Settled {
		t.Errorf("five readings of which one says the contrary settle it: %+v", c)
	}
}

// TestGivenAndStake: where a test does not apply nothing is ruled out, and what is at stake is a share.
func TestGivenAndStake(t *testing.T) {
	h := NewTest([]string{"bytes", "ops", "time"}, nil, false,
		func(get func(string) float64) float64 { return get("bytes") / get("ops") }, limit(4096)).
		Given(func(get func(string) float64) bool { return get("ops") > 100 }).
		Staking(func(get func(string) float64) float64 { return get("time") })
	for _, c := range []struct {
		values  []float64
		value   float64
		nothing bool
		stake   float64
	}{
		{[]float64{6400, 200, 0.3}, 32, false, 0.3},
		{[]float64{6400, 50, 0.3}, 4096, true, 0.3},
		{[]float64{6400, 200, 1.7}, 32, false, 1},
		{[]float64{6400, 200, -1}, 32, false, 0},
	} {
		var w Window
		for i := range 6 {
			w.Add(Bin{Start: float64(i), End: float64(i + 1), Values: c.values})
		}
		e := w.Estimate(h)
		if e.Value != c.value || e.Nothing != c.nothing || e.Stake != c.stake {
			t.Errorf("%v: value %v, nothing %v, stake %v", c.values, e.Value, e.Nothing, e.Stake)
		}
		if got := e.Conclude(None, 0.5); got.Holds != !c.nothing {
			t.Errorf("%v: %+v", c.values, got)
		}
	}
	if v := NewTest(nil, nil, true, nil, nil).Stake(nil, 1); !math.IsNaN(v) {
		t.Errorf("a test that tells nothing of it has %v at stake", v)
	}
}
