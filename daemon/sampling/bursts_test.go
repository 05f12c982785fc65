package sampling

import (
	"math"
	"testing"
	"time"

	"culprit/daemon/schedule"
)

func TestBurstsKeepTheirBudget(t *testing.T) {
	for _, switches := range []float64{0, 100, 3000, 5000, 50_000, 1e6, math.Inf(1), math.NaN()} {
		var b bursts
		const step, total = schedule.ShortestRound, 60 * time.Second
		on := 0
		for at := time.Duration(0); at < total; at += step {
			if b.next(time.Unix(0, int64(at)), switches, 8) {
				on++
			}
		}
		share := float64(on) * step.Seconds() / total.Seconds()
		allowed := min(1, max(sampleBudget/(switches*switchCost), burst.Seconds()/(burst+longestGap).Seconds()))
		if math.IsNaN(allowed) {
			allowed = 1
		}
		if share > 1.4*allowed || share < 0.6*allowed {
			t.Errorf("%g switches a second: sampled for %.3f of the time, allowed are %.3f", switches, share, allowed)
		}
	}
}

// TestBurstsGrowWithThreads: where switching sampling on and off takes long, it is done rarely, and as large a share of time is sampled.
func TestBurstsGrowWithThreads(t *testing.T) {
	shareOf := func(events int, budget float64) (share, toggles float64) {
		b := bursts{budget: budget}
		now, on := time.Now(), time.Duration(0)
		const step, span = 5 * time.Millisecond, 2000 * time.Second
		last := false
		for at := time.Duration(0); at < span; at += step {
			is := b.next(now.Add(at), 10_000, events)
			if is {
				on += step
			}
			if is != last {
				toggles++
			}
			last = is
		}
		return on.Seconds() / span.Seconds(), toggles / span.Seconds()
	}
	for _, budget := range []float64{toggleBudget, toggleShare} {
		const threads = 800
		quick, many := shareOf(2, budget)
		slow, few := shareOf(threads, budget)
		t.Logf("budget %.3f: 2 events: %.1f %% of the time sampled, %.1f switches a second; %d: %.1f %%, %.2f", budget, 100*quick, many, threads, 100*slow, few)
		if few*threads*toggleCost > 1.5*budget || few == 0 {
			t.Errorf("%.2f switches a second of %d events", few, threads)
		}
		if slow < quick/1.3 || slow > quick*1.3 {
			t.Errorf("%.3f of the time is sampled, else %.3f", slow, quick)
		}
	}
}
