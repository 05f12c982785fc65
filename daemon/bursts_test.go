package daemon

import (
	"math"
	"testing"
	"time"
)

func TestBurstsKeepTheirBudget(t *testing.T) {
	for _, switches := range []float64{0, 100, 3000, 5000, 50_000, 1e6, math.Inf(1), math.NaN()} {
		var b bursts
		const step, total = lookInterval, 60 * time.Second
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
