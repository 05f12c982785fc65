package probe

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"culprit/pcl"
	"culprit/trampoline"
)

// TestHeldAgainstLog compares what follows from two readings with the exact log of a value, wherever S stands in its 64 bits.
func TestHeldAgainstLog(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 5000 {
		begin := rng.Uint64()
		size := int64(1) << rng.IntN(50)
		last := gaugeSum{changes: uint64(rng.Int64N(2*size) - size), area: rng.Uint64()}
		last.value = int64(last.changes)
		now, s := begin, last
		area, low, high := new(big.Int), last.value, last.value
		for range rng.IntN(30) {
			step, d := uint64(rng.IntN(1<<20)), rng.Int64N(1+size/16)-size/32
			area.Add(area, new(big.Int).Mul(big.NewInt(s.value), new(big.Int).SetUint64(step)))
			now += step
			s.changes += uint64(d)
			s.area += uint64(d) * now
			s.value += d
			s.most, s.least = max(s.most, trampoline.GaugeKey(s.value)), max(s.least, ^trampoline.GaugeKey(s.value))
			low, high = min(low, s.value), max(high, s.value)
		}
		area.Add(area, new(big.Int).Mul(big.NewInt(s.value), big.NewInt(1000)))
		now += 1000
		v, clear := s.held(&last, begin, now)
		want, _ := new(big.Rat).SetFrac(area, new(big.Int).SetUint64(now-begin)).Float64()
		if !clear {
			if float64(high-low)*float64(now-begin) < 1<<62 {
				t.Fatalf("a range of %d over %d cycles is not clear", high-low, now-begin)
			}
			continue
		}
		if math.Abs(v.Mean-want) > 1e-9*(1+math.Abs(want)) || v.Min != float64(low) || v.Max != float64(high) || v.Last != float64(s.value) {
			t.Fatalf("got %+v, want mean %v from %d to %d, last %d", v, want, low, high, s.value)
		}
	}
}

// TestHeldBeyondDoubt: what changes too much between two readings has no mean, rather than a wrong one.
func TestHeldBeyondDoubt(t *testing.T) {
	s := gaugeSum{changes: 1 << 40, area: 1 << 60, value: 1 << 40, most: trampoline.GaugeKey(1 << 40), least: ^trampoline.GaugeKey(1)}
	if v, clear := s.held(&gaugeSum{}, 0, 1<<30); clear {
		t.Errorf("it is told: %+v", v)
	}
}

// gaugePlan is a plan that changes its own variable.
func gaugePlan(code ...pcl.Op) *pcl.Plan {
	p := &pcl.Plan{Kind: pcl.Gauge, Vars: []pcl.Var{{Name: "m", Kind: pcl.Gauge}}, Requests: []pcl.Request{{Func: 1}}}
	for _, op := range code {
		p.Requests[0].Code = append(p.Requests[0].Code, pcl.Instr{Op: op, Expr: &pcl.Expr{Op: pcl.ExConst, Value: 1}})
	}
	return p
}

// TestKnownFrom: a value that is set is known from then on, whatever the target writes there.
func TestKnownFrom(t *testing.T) {
	const begin, now = 1 << 40, 1<<40 + 1<<30
	plans := map[string]*pcl.Plan{"sets": gaugePlan(pcl.OpSet), "both": gaugePlan(pcl.OpSet, pcl.OpAdd), "adds": gaugePlan(pcl.OpAdd)}
	for _, c := range []struct {
		code        string
		since, last uint64
		from        uint64
		ok          bool
	}{
		{"sets", 0, 0, now, false},
		{"sets", begin + 5, 0, begin + 5, true},
		{"sets", begin - 5, 0, begin - 5, true},
		{"sets", 1, 0, begin, true},
		{"sets", now + 9, 0, now, true},
		{"sets", 1, 1, begin, true},
		{"both", begin + 5, 0, now, true},
		{"both", begin + 5, begin + 5, begin, true},
		{"adds", 0, 0, begin, true},
	} {
		g := gauge{plan: plans[c.code], sums: map[int]gaugeSum{allSlots: {since: c.last}}}
		from, ok := g.knownFrom(allSlots, gaugeSum{since: c.since}, begin, now)
		if from != c.from || ok != c.ok {
			t.Errorf("%+v: from %d, %v", c, from, ok)
		}
	}
}
