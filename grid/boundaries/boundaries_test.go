package boundaries

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// usual are the limits for bins of 0.2 s: two seconds, and a tenth of what a metric can be.
var usual = Limits{Least: 10, Step: 0.1}

// noisy is a curve around a level, with values that depend on the ones before by rho and vary by sd.
func noisy(r *rand.Rand, n int, sd, rho float64, level func(bin int) float64) Curve {
	c, e := make(Curve, n), r.NormFloat64()
	for i := range c {
		e = rho*e + math.Sqrt(1-rho*rho)*r.NormFloat64()
		c[i] = level(i) + sd*e
	}
	return c
}

func flat(at float64) func(int) float64 { return func(int) float64 { return at } }

// step is a level that changes once.
func step(bin int, before, after float64) func(int) float64 {
	return func(i int) float64 {
		if i < bin {
			return before
		}
		return after
	}
}

func bins(list []Boundary) []int {
	var out []int
	for _, b := range list {
		out = append(out, b.Bin)
	}
	return out
}

// TestNoiseIsNoChange: in 3,600 minutes of noise, of one metric and of eight, with values that depend on one another and ones that do not, hardly
// a boundary is found.
func TestNoiseIsNoChange(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found, minutes := 0, 0
	for _, sd := range []float64{0.02, 0.1, 0.3} {
		for _, rho := range []float64{0, 0.5, 0.9} {
			for range 200 {
				for _, k := range []int{1, 8} {
					var curves []Curve
					for range k {
						curves = append(curves, noisy(r, 300, sd, rho, flat(0.5)))
					}
					found, minutes = found+len(Find(curves, usual)), minutes+1
				}
			}
		}
	}
	if t.Logf("%d boundaries in %d minutes", found, minutes); found > minutes/500 {
		t.Errorf("%d boundaries in %d minutes of noise", found, minutes)
	}
}

// TestStepIsFound: a metric changes from 0.4 to 0.8, amid a minute and two seconds before its end. The boundary is told to within 0.4 s.
func TestStepIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		length  int
		sd, rho float64
		least   int // of 100
	}{{300, 0.02, 0.9, 100}, {300, 0.1, 0, 100}, {300, 0.1, 0.5, 98}, {300, 0.1, 0.9, 70}, {300, 0.3, 0, 60}, {132, 0.02, 0.5, 100}, {132, 0.1, 0.3, 95}} {
		t.Run(fmt.Sprintf("%d bins, noise %.2f, correlation %.1f", c.length, c.sd, c.rho), func(t *testing.T) {
			hits, others := 0, 0
			for range 100 {
				for _, b := range Find([]Curve{noisy(r, c.length, c.sd, c.rho, step(120, 0.4, 0.8))}, usual) {
					if max(b.Bin-120, 120-b.Bin) <= 2 {
						hits++
					} else {
						others++
					}
				}
			}
			t.Logf("%d of 100; at other places: %d", hits, others)
			if hits < c.least || others > 100-c.least {
				t.Errorf("%d of 100 at the step, wanted %d; %d at other places", hits, c.least, others)
			}
		})
	}
}

// TestFindsAllThatChanges has boundaries that only one of several metrics shows, each with its change.
func TestFindsAllThatChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	curves := []Curve{
		noisy(r, 300, 0.03, 0.3, flat(0.9)),
		noisy(r, 300, 0.03, 0.3, step(40, 0.9, 0)),
		noisy(r, 300, 0.03, 0.3, step(200, 0, 0.6)),
	}
	got := Find(curves, usual)
	if len(got) != 2 || got[0].Bin != 40 || got[0].Curve != 1 || got[1].Bin != 200 || got[1].Curve != 2 {
		t.Fatalf("found %+v", got)
	}
	for i, want := range []Boundary{{Before: 0.9, After: 0}, {Before: 0, After: 0.6}} {
		if math.Abs(got[i].Before-want.Before) > 0.03 || math.Abs(got[i].After-want.After) > 0.03 {
			t.Errorf("boundary %d is from %.2f to %.2f", i, got[i].Before, got[i].After)
		}
	}
}

// TestWhatIsTooShortOrSmall: bursts, what alternates faster than a phase may, and steps below the least one are no boundaries.
func TestWhatIsTooShortOrSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	bursts := noisy(r, 300, 0.05, 0.3, flat(0.3))
	for i := range bursts {
		if r.Float64() < 0.05 {
			bursts[i] = 1
		}
	}
	for name, c := range map[string]Curve{
		"bursts":       bursts,
		"fast":         noisy(r, 300, 0.05, 0.3, func(i int) float64 { return float64(i / 4 % 2) }),
		"small":        noisy(r, 300, 0.01, 0.3, step(120, 0.4, 0.48)),
		"near the end": noisy(r, 300, 0.01, 0.3, step(295, 0.4, 0.8)),
	} {
		if got := Find([]Curve{c}, usual); len(got) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestUnknownBins: what is not known moves no boundary and makes none, wherever it is.
func TestUnknownBins(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	c := noisy(r, 300, 0.03, 0.3, step(120, 0.4, 0.8))
	for i := range c {
		if i < 20 || i%3 == 0 || 180 <= i && i < 220 {
			c[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[i%3]
		}
	}
	late := append(make(Curve, 0), c[:150]...)
	for name, curves := range map[string][]Curve{"gaps": {c}, "ends earlier": {late, noisy(r, 300, 0.03, 0.3, flat(0.2))}} {
		if got := bins(Find(curves, usual)); len(got) != 1 || max(got[0]-120, 120-got[0]) > 2 {
			t.Errorf("%s: boundaries at %v, wanted one at 120", name, got)
		}
	}
	unknown := make(Curve, 300)
	for i := range unknown {
		unknown[i] = math.NaN()
	}
	for _, curves := range [][]Curve{nil, {nil}, {{}}, {{1}}, {{0, 1}}, {{0, 0, 1, 1}}, {unknown}, {make(Curve, 300)}, {{math.MaxFloat64, -math.MaxFloat64, math.MaxFloat64}}} {
		if got := Find(curves, usual); len(got) > 0 {
			t.Errorf("%d curves: %+v", len(curves), got)
		}
	}
	if got := Find([]Curve{{0, 0, 0, 0, 1, 1, 1, 1}}, Limits{}); len(got) != 1 || got[0].Bin != 4 {
		t.Errorf("without limits: %+v", got)
	}
}

// TestPeriod: what comes back at its time is a period; what does not is none.
func TestPeriod(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	levels := []float64{0, 0.3, 0.9}
	for want, c := range map[int]Curve{
		50: noisy(r, 300, 0.05, 0.3, func(i int) float64 { return float64(i / 25 % 2) }),
		60: noisy(r, 600, 0.03, 0.3, func(i int) float64 { return levels[i/20%3] }),
		6:  noisy(r, 300, 0.1, 0.3, func(i int) float64 { return float64(i / 3 % 2) }),
		99: noisy(r, 300, 0.1, 0.5, func(i int) float64 { return float64(i / 9 % 11 / 10) }),
	} {
		if p := PeriodOf(c, 5); max(p.Bins-want, want-p.Bins) > 1 || p.From != 0 || p.To < len(c)-want/2 {
			t.Errorf("%+v, wanted %d", p, want)
		}
	}
	irregular, at := 0.0, 20
	for name, c := range map[string]Curve{
		"irregular": noisy(r, 340, 0.03, 0.3, func(i int) float64 {
			if i == at {
				irregular, at = 1-irregular, i+10+r.IntN(50)
			}
			return irregular
		}),
		"one step":   noisy(r, 300, 0.05, 0.3, step(120, 0.1, 0.9)),
		"twice":      noisy(r, 300, 0.05, 0.3, func(i int) float64 { return float64(i/10%10/9) * float64((300-i)/101) }),
		"shorter":    noisy(r, 300, 0.05, 0.3, func(i int) float64 { return float64(i / 2 % 2) }),
		"two rounds": noisy(r, 100, 0.05, 0.3, func(i int) float64 { return float64(i / 25 % 2) }),
		"nothing":    {}, "a value": {0.3}, "all the same": make(Curve, 300), "unknown": noisy(r, 300, 0, 0, flat(math.NaN())),
	} {
		if p := PeriodOf(c, 5); p.Bins != 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestNoiseHasNoPeriod: noise of one metric, with values that depend on one another or do not, hardly ever repeats.
func TestNoiseHasNoPeriod(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	found, minutes := 0, 0
	for _, rho := range []float64{0, 0.5, 0.9, 0.98} {
		for range 500 {
			if minutes++; PeriodOf(noisy(r, 300, 0.2, rho, flat(0.5)), 5).Bins > 0 {
				found++
			}
		}
	}
	if t.Logf("%d periods in %d minutes", found, minutes); found > minutes/200 {
		t.Errorf("%d periods in %d minutes of noise", found, minutes)
	}
}

func BenchmarkFind(b *testing.B) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, n := range []int{10, 100} {
		var curves []Curve
		for range n {
			curves = append(curves, noisy(r, 300, 0.1, 0.5, step(120, 0.4, 0.8)))
		}
		b.Run(fmt.Sprintf("%d curves", n), func(b *testing.B) {
			for b.Loop() {
				Find(curves, usual)
			}
		})
	}
}
