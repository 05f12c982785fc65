package grid

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSpreadFolds: however long it lasts, nothing is lost, and what is told of a span covers it to half an interval.
func TestSpreadFolds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	type piece struct {
		mid float64
		d   *Distribution
	}
	for range 50 {
		s, start := NewSpread(10), 10.0
		var all []piece
		var want Distribution
		for range 2000 {
			end := start + 0.05 + 0.3*r.Float64()
			d := of([]int64{anyValue(r), int64(r.IntN(100))}, 1)
			s.Add(start, end, d)
			all = append(all, piece{start + (end-start)/2, d})
			want.Add(d)
			start = end
		}
		if s.Total() != want || s.Between(math.Inf(-1), math.Inf(1)).Counts != want.Counts {
			t.Fatal("values were lost")
		}
		if w := s.Width(); w < (start-10)/SpreadSlots || w > 2*(start-10)/SpreadSlots+FinestWidth {
			t.Fatalf("%g s in intervals of %g s", start-10, w)
		}
		from := 10 + r.Float64()*(start-10)
		to := from + r.Float64()*(start-from)
		got, w := s.Between(from, to), s.Width()
		var inner, outer uint64
		for _, p := range all {
			if p.mid > from+w/2 && p.mid <= to-w/2 {
				inner += p.d.Count()
			}
			if p.mid > from-w/2 && p.mid <= to+w/2 {
				outer += p.d.Count()
			}
		}
		if n := got.Count(); n < inner || n > outer {
			t.Fatalf("from %g to %g: %d values, want %d to %d", from, to, n, inner, outer)
		}
	}
}

func TestSpreadLeavesOutWhatIsNoTime(t *testing.T) {
	s := NewSpread(5)
	d := of([]int64{1}, 1)
	for _, at := range [][2]float64{{math.NaN(), 6}, {6, math.Inf(1)}, {1, 2}, {2e9, 3e9}} {
		s.Add(at[0], at[1], d)
	}
	s.Add(6, 7, new(Distribution))
	if s.Total() != (Distribution{}) || s.Width() != FinestWidth {
		t.Errorf("%+v", s.Total())
	}
	s.Add(6, 7, d)
	if s.Total() != *d {
		t.Errorf("%+v", s.Total())
	}
}

// distributing measures nothing and can be told to say that it does.
type distributing struct{ Instrumenter }

func (distributing) Enable(keys []PairKey, _ Sink) (out []EnableResult) {
	for _, k := range keys {
		out = append(out, EnableResult{Key: k, Tier: TierProbe})
	}
	return out
}
func (distributing) Disable([]PairKey) {}

// TestGridKeepsDistributions: a distribution of the whole session and of phases, for metrics that have one and pairs that are enabled.
func TestGridKeepsDistributions(t *testing.T) {
	now := 0.0
	metrics := map[string]Metric{"latency": {Name: "latency", Values: "s"}, "plain": {Name: "plain"}}
	g := New(distributing{}, func(m string) (Metric, bool) { x, ok := metrics[m]; return x, ok }, func() float64 { return now })
	latency, plain := PairKey{Metric: "latency"}, PairKey{Metric: "plain"}
	one, two := of([]int64{10}, 1), of([]int64{2000}, 1)
	var sink DistributionSink = g
	sink.Distribute(latency, 0, 0.1, one)
	if g.Dropped() != 1 {
		t.Errorf("%d dropped before the pair was enabled, want 1", g.Dropped())
	}
	g.Enable(latency, plain)
	sink.Distribute(plain, 0, 0.1, one)
	sink.Distribute(latency, 0, 0.2, one)
	sink.Distribute(latency, 0.2, 0.4, one)
	now = 1
	ph, err := g.StartPhase("second")
	if err != nil {
		t.Fatal(err)
	}
	sink.Distribute(latency, 1, 1.2, two)
	now = 2
	g.EndPhase()
	sink.Distribute(latency, 2, 2.2, one)
	for _, c := range []struct {
		phase int
		want  uint64
	}{{0, 4}, {ph.ID, 1}} {
		d, ok := g.Distribution(latency, c.phase)
		if !ok || d.Count() != c.want {
			t.Errorf("phase %d: %d values (%v), want %d", c.phase, d.Count(), ok, c.want)
		}
	}
	if d, _ := g.Distribution(latency, ph.ID); d.Quantile(0.5) < 1750 {
		t.Errorf("the phase's own value is %g, want about 2000", d.Quantile(0.5))
	}
	for _, c := range []struct {
		key   PairKey
		phase int
	}{{plain, 0}, {latency, 7}, {latency, -1}, {PairKey{Metric: "x"}, 0}} {
		if _, ok := g.Distribution(c.key, c.phase); ok {
			t.Errorf("%v has a distribution in phase %d", c.key, c.phase)
		}
	}
	if s, _ := g.Pair(latency); s.Values == nil || s.Values.Width() != FinestWidth {
		t.Error("a snapshot lacks the distribution")
	}
	if s, _ := g.Pair(plain); s.Values != nil || g.Dropped() != 2 {
		t.Errorf("a metric without Values has a distribution, or %d are dropped and not 2", g.Dropped())
	}
}
