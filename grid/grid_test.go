package grid

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// A program is an Instrumenter over a program that does not exist: enabled pairs grow by their rate as its clock goes
// on. Metrics named "bad.." are refused, those named "mute.." are not answered.
type program struct {
	mu      sync.Mutex
	time    float64
	rate    map[PairKey]float64
	enabled map[PairKey]Sink
	batches []string // what was asked for, in order
}

func newProgram() *program {
	return &program{rate: map[PairKey]float64{}, enabled: map[PairKey]Sink{}}
}

func (p *program) now() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.time
}

func (p *program) Price(keys []PairKey) ([]Price, []error) {
	prices, errs := make([]Price, len(keys)), make([]error, len(keys))
	for i, k := range keys {
		prices[i] = Price{Fraction: 0.01, Rate: p.rate[k], Points: 2}
		if strings.HasPrefix(k.Metric, "bad") {
			errs[i] = ErrRefused{Point: "f", Reason: "too short"}
		}
	}
	return prices, errs
}

func (p *program) Enable(keys []PairKey, sink Sink) []EnableResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.batches = append(p.batches, fmt.Sprint("+", keys))
	var out []EnableResult
	for _, k := range keys {
		switch {
		case strings.HasPrefix(k.Metric, "mute"):
		case strings.HasPrefix(k.Metric, "bad"):
			out = append(out, EnableResult{Key: k, Err: fmt.Errorf("here: %w", ErrRefused{Point: "f", Reason: "too short"})})
		default:
			p.enabled[k] = sink
			out = append(out, EnableResult{Key: k, Tier: TierProbe, Since: p.time})
		}
	}
	return out
}

func (p *program) Disable(keys []PairKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.batches = append(p.batches, fmt.Sprint("-", keys))
	for _, k := range keys {
		p.enabled[k].Sample(k, p.time, p.time, 1) // what was left in the probe
		delete(p.enabled, k)
	}
}

func (p *program) ObservedCost() float64      { return 0.004 }
func (p *program) Costs() map[PairKey]float64 { return nil }

// run lets the program run until a time, sampled every dt.
func (p *program) run(until, dt float64) {
	for p.time < until-dt/2 {
		p.mu.Lock()
		start := p.time
		p.time += dt
		for k, sink := range p.enabled {
			sink.Sample(k, start, p.time, math.Round(p.rate[k]*dt))
		}
		p.mu.Unlock()
	}
}

var testMetrics = map[string]Metric{
	"calls":   {Name: "calls", Units: "calls", UnitsType: Unnormalized},
	"threads": {Name: "threads", Units: "threads", UnitsType: Sampled, Style: SampledFunction},
	"bad":     {Name: "bad"},
	"mute":    {Name: "mute"},
}

func lookupTest(name string) (Metric, bool) {
	m, ok := testMetrics[name]
	return m, ok
}

func testGrid() (*program, *Grid) {
	p := newProgram()
	return p, New(p, lookupTest, p.now)
}

func mustPair(t testing.TB, text string) PairKey {
	t.Helper()
	k, err := ParsePair(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestGridLife(t *testing.T) {
	p, g := testGrid()
	f, h := mustPair(t, "calls@/Code/a/f"), mustPair(t, "calls@/Code/a/g")
	p.rate[f], p.rate[h] = 100, 1000
	r := g.Enable(f, h)
	if r[0].Err != nil || r[0].Key != f || r[0].Tier != TierProbe || r[1].Key != h {
		t.Fatalf("enabled: %+v", r)
	}
	p.run(1, 0.2)
	if r := g.Enable(f, f); r[0].Err != nil || r[0].Tier != TierProbe || r[1].Since != 0 {
		t.Errorf("shared: %+v", r)
	}
	if prices, errs := g.Price([]PairKey{f, mustPair(t, "none@/"), mustPair(t, "bad@/")}); prices[0].Rate != 100 || errs[0] != nil || !errors.As(errs[1], new(ErrUnknownMetric)) || !errors.As(errs[2], new(ErrRefused)) {
		t.Errorf("prices %v, %v", prices, errs)
	}
	s, ok := g.Pair(f)
	if !ok || !s.Enabled || s.Sum != 100 || !nearly(s.Average, 100, 1e-9) || !nearly(s.Current, 100, 1e-9) || s.Min != s.Max || s.Cost.Points != 2 || s.Metric.RateUnits() != "calls/s" {
		t.Errorf("snapshot %+v", s)
	}
	g.Disable(f)
	g.Disable(f, h)
	p.run(2, 0.2)
	g.Disable(f, f, h)
	p.run(3, 0.2)
	want := []string{"+[calls@/Code/a/f calls@/Code/a/g]", "-[calls@/Code/a/g]", "-[calls@/Code/a/f]"}
	if !reflect.DeepEqual(p.batches, want) {
		t.Errorf("batches %q, want %q", p.batches, want)
	}
	if s, ok := g.Pair(f); !ok || s.Enabled || s.Sum != 201 || s.Cost.Points != 2 {
		t.Errorf("after disable: %+v", s)
	}
	if got := g.Pairs(); len(got) != 2 || got[0].Key != f || got[1].Key != h || got[1].Sum != 1001 {
		t.Errorf("pairs %+v", got)
	}
	if g.Enable(f); p.now() != 3 {
		p.run(3, 0.2)
	}
	g.Drop(f, h)
	if _, ok := g.Pair(h); ok || len(g.Pairs()) != 1 {
		t.Error("not dropped, or an enabled pair was")
	}
	p.run(4, 0.2)
	s, _ = g.Pair(f)
	if s.Sum != 301 || s.Since < 2.9 || s.Histogram.SumIn(2.2, 2.8) != 0 || !math.IsNaN(s.Histogram.Bins()[12]) {
		t.Errorf("enabled again: %+v, %v", s, s.Histogram.Bins())
	}
	if g.ObservedCost() != 0.004 {
		t.Error("observed cost is wrong")
	}
}

func TestGridFailures(t *testing.T) {
	p, g := testGrid()
	good, bad, mute, none := mustPair(t, "calls"), mustPair(t, "bad"), mustPair(t, "mute"), mustPair(t, "none")
	r := g.Enable(none, bad, good, mute, bad)
	if !errors.As(r[0].Err, new(ErrUnknownMetric)) || !errors.As(r[1].Err, new(ErrRefused)) || r[2].Err != nil || !errors.As(r[3].Err, new(ErrUnsupported)) || r[4].Err == nil {
		t.Errorf("results %+v", r)
	}
	if got := g.Pairs(); len(got) != 1 || got[0].Key != good {
		t.Errorf("pairs %+v", got)
	}
	g.Disable(bad, none, mute)
	if !reflect.DeepEqual(p.batches, []string{"+[bad@/ calls@/ mute@/]"}) {
		t.Errorf("batches %q", p.batches)
	}
	g.Sample(bad, 0, 1, 1)
	g.Sample(good, 0, 1, 1)
	if g.Dropped() != 1 {
		t.Errorf("%d dropped", g.Dropped())
	}
	g.Sample(good, 1, 2, 1)
	if len(g.News()) != 1 {
		t.Errorf("%d messages of two values, 1 is wanted", len(g.News()))
	}
	<-g.News()
	g.Sample(bad, 0, 1, 1)
	if len(g.News()) != 0 {
		t.Error("a message of a value that was dropped")
	}
	g.Enable(good)
	g.DisableAll()
	if s, _ := g.Pair(good); s.Enabled || len(p.enabled) != 0 {
		t.Error("still enabled")
	}
}

func TestGridPhases(t *testing.T) {
	p, g := testGrid()
	f := mustPair(t, "calls")
	p.rate[f] = 100
	g.Enable(f)
	p.run(250, 0.5)
	one, err := g.StartPhase("")
	if err != nil || one != (Phase{ID: 1, Name: "phase 1", Start: 250}) {
		t.Fatalf("%+v, %v", one, err)
	}
	if g.SamplingInterval() != 0.2 {
		t.Errorf("sampling interval %v", g.SamplingInterval())
	}
	p.run(260, 0.2)
	// A sample across the change belongs to both sides; each count to one.
	p.mu.Lock()
	p.time = 260.5
	p.mu.Unlock()
	if _, err := g.StartPhaseAt("two", 260.3); err != nil {
		t.Fatal(err)
	}
	g.Sample(f, 260, 260.5, 77)
	first, _ := g.Histogram(f, 1)
	second, ok := g.Histogram(f, 2)
	all, _ := g.Histogram(f, 0)
	if !ok || first.Sum() != 1000+46 || second.Sum() != 31 || all.Sum() != 26077 {
		t.Errorf("phase 1 %v, phase 2 %v, all %v", first.Sum(), second.Sum(), all.Sum())
	}
	if all.Width() != 0.4 || second.Width() != 0.2 || second.Start() != 260.3 || first.FilledUntil() != 260.3 {
		t.Errorf("widths %v %v, start %v, end %v", all.Width(), second.Width(), second.Start(), first.FilledUntil())
	}
	ended, ok := g.EndPhase()
	if _, now := g.CurrentPhase(); !ok || ended.End != 260.5 || now {
		t.Errorf("ended %+v", ended)
	}
	if _, ok := g.EndPhase(); ok {
		t.Error("ended twice")
	}
	if got := g.Phases(); len(got) != 3 || got[0].Name != "global" || got[1].End != 260.3 || got[2].End != 260.5 {
		t.Errorf("phases %+v", got)
	}
	if s, _ := g.Pair(f); len(s.Phases) != 2 || s.Phases[0].Phase.Name != "phase 1" || s.Phases[1].Phase.End != 260.5 {
		t.Errorf("phases of the pair %+v", s.Phases)
	}
	first.Add(255, 256, 1e6) // late values of an ended phase are not believed
	g.StartPhase("three")
	first.Add(255, 256, 1e6)
	if len(first.bins) != 52 {
		t.Errorf("%d bins are kept of an ended phase", len(first.bins))
	}
}

// TestGridPhaseInThePast: what was measured since the phase began comes from the phase before or the global one.
func TestGridPhaseInThePast(t *testing.T) {
	p, g := testGrid()
	f, v := mustPair(t, "calls"), mustPair(t, "threads")
	p.rate[f], p.rate[v] = 100, 20
	g.Enable(f, v)
	p.run(500, 0.5)
	if _, err := g.StartPhaseAt("a", 200); err != nil {
		t.Fatal(err)
	}
	h, _ := g.Histogram(f, 1)
	if h.Sum() != 30000 || h.Width() != 0.4 {
		t.Errorf("late by 300 s: sum %v, width %v", h.Sum(), h.Width())
	}
	if _, err := g.StartPhaseAt("b", 400); err != nil {
		t.Fatal(err)
	}
	p.run(510, 0.5)
	a, _ := g.Histogram(f, 1)
	b, _ := g.Histogram(f, 2)
	values, _ := g.Histogram(v, 2)
	if a.Sum() != 20000 || b.Sum() != 11000 || a.FilledUntil() != 400 || !nearly(values.Average(0, 999), 10, 1e-9) {
		t.Errorf("a %v until %v, b %v, values %v", a.Sum(), a.FilledUntil(), b.Sum(), values.Average(0, 999))
	}
	for _, at := range []float64{-1, 400, 300, 1e6, math.NaN()} {
		if ph, err := g.StartPhaseAt("c", at); err == nil {
			t.Errorf("started at %v: %+v", at, ph)
		}
	}
	late := mustPair(t, "calls@/Code/a")
	g.Enable(late)
	if s, _ := g.Pair(late); s.Histogram.Width() != 0.8 || len(s.Phases) != 1 || s.Phases[0].Histogram.Start() != 400 {
		t.Errorf("late pair: %+v", s)
	}
}

func TestGridManyPhases(t *testing.T) {
	p, g := testGrid()
	f := mustPair(t, "calls")
	p.rate[f] = 10
	g.Enable(f)
	for i := range MaxPhases - 1 {
		p.run(float64(i+1)*0.2, 0.2)
		if _, err := g.StartPhase(""); err != nil {
			t.Fatal(err)
		}
	}
	p.run(p.time+0.2, 0.2)
	if ph, err := g.StartPhase(""); err == nil {
		t.Errorf("one too many: %+v", ph)
	}
	s, _ := g.Pair(f)
	if len(s.Phases) != keptPhases+1 || g.current.group.Len() != 1 {
		t.Errorf("%d phases of the pair, %d in the group", len(s.Phases), g.current.group.Len())
	}
	for _, ph := range s.Phases {
		if ph.Histogram.Sum() != 2 {
			t.Errorf("%+v has %v", ph.Phase, ph.Histogram.Sum())
		}
	}
}

func TestGridChanges(t *testing.T) {
	p, g := testGrid()
	f := mustPair(t, "calls")
	p.rate[f] = 5
	var got []string
	names := []string{"value", "folded", "enabled", "disabled", "dropped", "phase", "phase ended"}
	cancel := g.Subscribe(func(c Change) {
		g.Pairs() // reading is allowed
		got = append(got, fmt.Sprintf("%s %v %g %g %g %s", names[c.Kind], c.Key, c.Value, c.Width, c.Start, c.Phase.Name))
	})
	g.Enable(f)
	g.Enable(f)
	p.run(0.2, 0.2)
	p.mu.Lock()
	p.time = 300
	p.mu.Unlock()
	g.Sample(f, 0.2, 300, 9)
	g.StartPhase("x")
	g.EndPhase()
	g.Disable(f, f)
	g.Drop(f)
	want := []string{
		"enabled calls@/ 0 0 0 ", "value calls@/ 1 0 0 ", "folded @/ 0 0.4 0 global", "value calls@/ 9 0 0.2 ",
		"phase @/ 0 0 300 x", "phase ended @/ 0 0 300 x", "value calls@/ 1 0 300 ", "disabled calls@/ 0 0 0 ", "dropped calls@/ 0 0 0 ",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	cancel()
	cancel()
	g.Enable(f)
	if len(got) != len(want) {
		t.Error("told after cancel")
	}
}

func TestGridGoroutines(t *testing.T) {
	p, g := testGrid()
	keys := make([]PairKey, 20)
	for i := range keys {
		keys[i] = mustPair(t, fmt.Sprintf("calls@/Code/m/f%d", i))
		p.rate[keys[i]] = 50
	}
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 100 {
				some := keys[(i+w)%10 : 10+(i*w)%10]
				g.Enable(some...)
				g.Pairs()
				g.Disable(some...)
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			g.StartPhase("")
			g.SamplingInterval()
			g.Subscribe(func(Change) {})()
		}
	})
	wg.Go(func() { p.run(300, 0.2) })
	wg.Wait()
	if len(p.enabled) != 0 {
		t.Errorf("%d pairs are left enabled", len(p.enabled))
	}
}

func manyPairs(b *testing.B, n int) (*Grid, []PairKey) {
	p, g := testGrid()
	keys := make([]PairKey, n)
	for i := range keys {
		keys[i] = PairKey{"calls", Whole().Refine(Code, "module.c", fmt.Sprint("function_", i)).Refine(Process, "srv{4242}")}
	}
	g.Enable(keys...)
	if _, err := g.StartPhase("x"); err != nil {
		b.Fatal(err)
	}
	p.run(1, 1)
	return g, keys
}

// BenchmarkSample1000 is one pass of the sampler over 1,000 pairs with a global and a current histogram each; at 5 Hz
// 1 % of a core is 2 ms for one pass.
func BenchmarkSample1000(b *testing.B) {
	g, keys := manyPairs(b, 1000)
	now := 1.0
	b.ReportAllocs()
	for b.Loop() {
		for _, k := range keys {
			g.Sample(k, now, now+0.2, 1234)
		}
		now += 0.2
	}
	b.ReportMetric(100*5*b.Elapsed().Seconds()/float64(b.N), "%core")
}

// BenchmarkPairs1000 is one look at all of 1,000 pairs with full histograms, as a screen takes it.
func BenchmarkPairs1000(b *testing.B) {
	g, keys := manyPairs(b, 1000)
	for _, k := range keys {
		g.Sample(k, 1, 200, 1e6)
	}
	for b.Loop() {
		if len(g.Pairs()) != 1000 {
			b.Fatal("pairs are missing")
		}
	}
}
