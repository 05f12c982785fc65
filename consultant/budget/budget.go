package budget

import (
	"fmt"
	"math"

	"culprit/consultant/explain"
	"culprit/grid"
)

const (
	settleTime  = 1.5  // s until the observed cost shows what was enabled
	pauseCredit = 2.5  // s of the session that the program may be paused ahead of the limit: the first probes need many stops
	dropTime    = 1.0  // s until a pair that nobody needs is disabled, if no other change comes before
	shedPause   = 1.0  // s between two steps of shedding
	shedAfter   = 1.2  // s; a shorter excess may come from the stop of one batch, which the observed cost includes
	grossExcess = 15.0 // times the limit; what exceeds it so much is stopped as soon as it is not the stop of a batch
	grossAfter  = 0.45 // s
	fades       = 0.85 // an observed cost below this share of the one before is what a stop leaves behind: it fades away
)

// A Budget is what a search may take, what it takes, and what its pairs cost.
type Budget struct {
	limit  float64 // fraction of the target's active time
	prices map[grid.PairKey]price
	active map[grid.PairKey]Pair
	seen   map[grid.PairKey]float64

	observed  float64 // cost, as measured last
	fading    bool    // it became clearly less when it changed last
	overSince float64 // s; since when it exceeds the limit; +Inf if it does not
	shedAt    float64 // s; when something was stopped for that last
	paused    float64 // s; for how long the program was paused in all
	changedAt float64 // s; when pairs were enabled or disabled last; -Inf if never
	allowance float64 // s of CPU time that the search may use now
}

// A Pair is a pair that the search has enabled.
type Pair struct {
	Since  float64 // s; values are complete from then on
	Tier   grid.Tier
	at     float64 // s; when it was enabled
	cost   float64 // predicted
	shared float64 // likewise, of what is paid once for all pairs
}

// New makes a budget of a fraction of the target's active time. CPU time is without limit until SetAllowance.
func New(limit float64) *Budget {
	return &Budget{
		limit: limit, prices: map[grid.PairKey]price{}, active: map[grid.PairKey]Pair{}, allowance: math.Inf(1),
		overSince: math.Inf(1), shedAt: math.Inf(-1), changedAt: math.Inf(-1),
	}
}

// Limit is the fraction of the target's active time that probes may take.
func (b *Budget) Limit() float64 { return b.limit }

// Observed is the fraction of the target's active time that probes took lately.
func (b *Budget) Observed() float64 { return b.observed }

// Observe takes what was measured: the cost, and for how long the program was paused in all, in s.
func (b *Budget) Observe(cost, paused float64) {
	if math.IsNaN(cost) || cost < 0 {
		cost = 0
	}
	if cost != b.observed {
		b.fading = cost < fades*b.observed
	}
	b.observed, b.paused = cost, paused
}

// Enable notes that a pair is measured.
func (b *Budget) Enable(k grid.PairKey, since float64, tier grid.Tier, now float64) {
	p := b.prices[k]
	b.active[k] = Pair{Since: since, Tier: tier, at: now, cost: p.fraction(), shared: p.Shared}
}

// Disable notes that pairs are not measured any longer.
func (b *Budget) Disable(keys ...grid.PairKey) {
	for _, k := range keys {
		delete(b.active, k)
	}
}

// Active is what is known of a pair that is measured.
func (b *Budget) Active(k grid.PairKey) (p Pair, ok bool) {
	p, ok = b.active[k]
	return p, ok
}

// ActiveKeys lists the pairs that are measured, in no order.
func (b *Budget) ActiveKeys() []grid.PairKey {
	keys := make([]grid.PairKey, 0, len(b.active))
	for k := range b.active {
		keys = append(keys, k)
	}
	return keys
}

// HasProbes tells whether one of the pairs is measured by what costs something: what the kernel keeps anyway does not.
func (b *Budget) HasProbes(keys []grid.PairKey, counts func(k grid.PairKey) bool) bool {
	for _, k := range keys {
		if p, on := b.active[k]; on && p.Tier != grid.TierKernel && counts(k) {
			return true
		}
	}
	return false
}

// Load is the observed cost plus that of what was enabled too recently to be seen in it.
func (b *Budget) Load(now float64) float64 {
	load := b.observed
	for _, p := range b.active {
		if now-p.at < settleTime {
			load += p.cost
		}
	}
	return load + b.sharedSince(now-settleTime)
}

// MayStart tells whether anything may be started: not even what costs nothing may while the budget is exceeded, since to
// insert it pauses the program.
func (b *Budget) MayStart(now float64) bool { return b.observed <= b.limit && !b.OwesPauses(now) }

// OwesPauses tells that the program was paused for more than its share of the session. Each batch pauses it at least once,
// for a tenth of a second if it has thousands of threads: the next one waits until those before are paid for. The first
// one does not wait, since nothing would be known without it.
func (b *Budget) OwesPauses(now float64) bool {
	return !math.IsInf(b.changedAt, -1) && b.paused > b.limit*(now+pauseCredit)
}

// MustDrop tells whether what nobody needs any longer is to be disabled now. It may stay for a moment, so that the program
// is paused less often.
func (b *Budget) MustDrop(now float64) bool {
	switch {
	case b.shedAt > b.changedAt:
		return true
	case b.OwesPauses(now):
		return false
	}
	return b.observed > b.limit/2 || now-b.changedAt >= dropTime
}

// Changed notes that pairs are about to be enabled or disabled.
func (b *Budget) Changed(now float64) { b.changedAt = now }

// ChangedSince tells that pairs were enabled or disabled after a time.
func (b *Budget) ChangedSince(at float64) bool { return b.changedAt > at }

// Excess is by how much the observed cost exceeds the limit, if it is time to stop something for that; else 0.
func (b *Budget) Excess(now float64) float64 {
	if b.observed <= b.limit {
		b.overSince = math.Inf(1)
		return 0
	}
	b.overSince = min(b.overSince, now)
	over := now - b.overSince
	gross := b.observed > grossExcess*b.limit && over >= grossAfter
	if b.fading || now-b.shedAt < shedPause || over < shedAfter && !gross {
		return 0
	}
	return b.observed - b.limit
}

// Shed notes that something was stopped because of an excess.
func (b *Budget) Shed(now float64) { b.shedAt = now }

// Spent says what of the budget is used, for a load.
func (b *Budget) Spent(load, now float64) string {
	limit := explain.Percent(b.limit)
	if b.OwesPauses(now) {
		return fmt.Sprintf("the program was paused for %.2f s in %.1f s, more than the budget of %s", b.paused, now, limit)
	}
	return fmt.Sprintf("probes cost %s of the program's time, and the budget is %s", explain.Percent(load), limit)
}
