package grid

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// maxPrices bounds how many prices of pairs are remembered.
const maxPrices = 1 << 16

// A Grid holds the pairs that are or were measured, with their histograms. It is where those who want values and the
// one who measures meet: wishes go down to the Instrumenter, samples come up through Sample.
type Grid struct {
	inst   Instrumenter
	lookup func(metric string) (Metric, bool)
	now    func() float64

	wish sync.Mutex // held during a batch to inst; taken before mu

	mu      sync.RWMutex
	pairs   map[PairKey]*pair
	prices  map[PairKey]Price
	phases  []Phase
	global  *phaseState
	current *phaseState // nil while there is none

	subs    atomic.Pointer[[]*subscriber]
	dropped atomic.Uint64
	news    chan struct{} // holds one while values came that the reader of News has not seen
}

// A pair is what the grid knows of one cell. Everything is guarded by Grid.mu; refs changes only with Grid.wish held.
type pair struct {
	key    PairKey
	metric Metric
	refs   int  // enables less disables
	active bool // samples are taken: from before the Instrumenter enables it until it has disabled it
	tier   Tier
	since  float64

	recent  recent
	global  *Histogram
	current *Histogram       // nil if there is no current phase
	past    []PhaseHistogram // of the latest ended phases, oldest first
	values  *Spread          // nil unless the metric has Values
}

// New makes an empty grid. inst measures; lookup knows the metrics; now is the time in s since the session started.
// None may be nil, and all must be fit for any goroutine.
func New(inst Instrumenter, lookup func(metric string) (Metric, bool), now func() float64) *Grid {
	if inst == nil || lookup == nil || now == nil {
		panic("BUG: grid.New needs an Instrumenter, a lookup and a clock")
	}
	g := &Grid{inst: inst, lookup: lookup, now: now, pairs: map[PairKey]*pair{}, prices: map[PairKey]Price{}, news: make(chan struct{}, 1)}
	global := Phase{Name: "global"}
	g.phases = []Phase{global}
	g.global = g.newPhaseState(global)
	g.subs.Store(&[]*subscriber{})
	return g
}

// Enable starts to measure the pairs that nobody measures yet, in one batch, and shares the others: each Enable of a
// pair needs one Disable. The results are in the order of keys. A pair that failed is not enabled; its error is
// ErrUnknownMetric or what the Instrumenter says.
func (g *Grid) Enable(keys ...PairKey) []EnableResult {
	g.wish.Lock()
	defer g.wish.Unlock()
	results := make([]EnableResult, len(keys))
	metrics := make([]Metric, len(keys))
	for i, key := range keys {
		var ok bool
		results[i].Key = key
		if metrics[i], ok = g.lookup(key.Metric); !ok {
			results[i].Err = ErrUnknownMetric{key.Metric}
		}
	}
	fresh := g.claim(results, metrics)
	var answers []EnableResult
	if len(fresh) > 0 {
		answers = g.inst.Enable(fresh, g)
	}
	g.notify(g.settle(results, fresh, answers)...)
	return results
}

// claim counts the wishes and returns the pairs that have to be enabled; they take samples from now on, because the
// first may come before the Instrumenter returns.
func (g *Grid) claim(results []EnableResult, metrics []Metric) (fresh []PairKey) {
	now := g.now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, r := range results {
		if r.Err != nil {
			continue
		}
		p := g.pairs[r.Key]
		if p == nil || !p.active && (p.metric.Style != metrics[i].Style || p.metric.Values != metrics[i].Values) {
			p = g.newPair(r.Key, metrics[i], now)
		}
		if p.refs++; p.refs == 1 {
			p.metric, p.active = metrics[i], true
			fresh = append(fresh, r.Key)
		}
	}
	return fresh
}

// newPair replaces what the grid had of the pair.
func (g *Grid) newPair(key PairKey, m Metric, now float64) *pair {
	if old := g.pairs[key]; old != nil {
		old.drop()
	}
	p := &pair{key: key, metric: m, global: g.global.group.New(m.Style, now)}
	if g.current != nil {
		p.current = g.current.group.New(m.Style, now)
	}
	if m.Values != "" {
		p.values = NewSpread(g.global.group.start)
	}
	g.pairs[key] = p
	return p
}

// settle enters the answers for the fresh pairs and fills the results in.
func (g *Grid) settle(results []EnableResult, fresh []PairKey, answers []EnableResult) (changes []Change) {
	failed := map[PairKey]error{}
	for _, key := range fresh {
		failed[key] = ErrUnsupported{What: key.Metric + " at this focus"} // unless there is an answer
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range answers {
		if _, asked := failed[a.Key]; !asked {
			continue
		}
		if a.Err != nil {
			failed[a.Key] = a.Err
			continue
		}
		delete(failed, a.Key)
		p := g.pairs[a.Key]
		p.tier, p.since = a.Tier, a.Since
		changes = append(changes, Change{Kind: PairEnabled, Key: a.Key, Start: a.Since})
	}
	for i := range results {
		r := &results[i]
		if r.Err != nil {
			continue // it was not claimed
		}
		if r.Err = failed[r.Key]; r.Err != nil {
			g.unclaim(r.Key)
		} else {
			p := g.pairs[r.Key]
			r.Tier, r.Since = p.tier, p.since
		}
	}
	return changes
}

// unclaim takes back a wish that failed.
func (g *Grid) unclaim(key PairKey) {
	p := g.pairs[key]
	if p.refs--; p.refs > 0 {
		return
	}
	p.active = false
	if p.global.FilledUntil() == p.global.Start() { // it never had a value
		p.drop()
		delete(g.pairs, key)
	}
}

// Disable takes back one Enable of each pair. The last one out stops measuring, in one batch; values up to now are in
// the histograms when it returns, and they are kept until Drop. Pairs that are not enabled are passed over.
func (g *Grid) Disable(keys ...PairKey) {
	g.wish.Lock()
	defer g.wish.Unlock()
	g.stop(g.release(keys, false))
}

// DisableAll stops measuring everything, however often it was enabled.
func (g *Grid) DisableAll() {
	g.wish.Lock()
	defer g.wish.Unlock()
	var keys []PairKey
	g.mu.RLock()
	for key := range g.pairs {
		keys = append(keys, key)
	}
	g.mu.RUnlock()
	slices.SortFunc(keys, PairKey.Compare)
	g.stop(g.release(keys, true))
}

// release returns the pairs that nobody wants any more.
func (g *Grid) release(keys []PairKey, all bool) (last []PairKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range keys {
		p := g.pairs[key]
		if p == nil || p.refs == 0 {
			continue
		}
		if p.refs--; all {
			p.refs = 0
		}
		if p.refs == 0 {
			last = append(last, key)
		}
	}
	return last
}

func (g *Grid) stop(keys []PairKey) {
	if len(keys) == 0 {
		return
	}
	g.inst.Disable(keys)
	now := g.now()
	changes := make([]Change, len(keys))
	g.mu.Lock()
	for i, key := range keys {
		g.pairs[key].active = false
		changes[i] = Change{Kind: PairDisabled, Key: key, End: now}
	}
	g.mu.Unlock()
	g.notify(changes...)
}

// Drop forgets the pairs, with their histograms. Pairs that are enabled are passed over.
func (g *Grid) Drop(keys ...PairKey) {
	g.wish.Lock()
	defer g.wish.Unlock()
	var changes []Change
	g.mu.Lock()
	for _, key := range keys {
		delete(g.prices, key)
		if p := g.pairs[key]; p != nil && p.refs == 0 {
			p.drop()
			delete(g.pairs, key)
			changes = append(changes, Change{Kind: PairDropped, Key: key})
		}
	}
	g.mu.Unlock()
	g.notify(changes...)
}

// drop takes the histograms out of their groups.
func (p *pair) drop() {
	for _, h := range []*Histogram{p.global, p.current} {
		if h != nil && h.group != nil {
			h.group.Remove(h)
		}
	}
}

// Price predicts what the pairs would cost and remembers it for their snapshots. Call rates that are not known are
// measured, which takes about 100 ms for the whole batch. Both slices are as long as keys.
func (g *Grid) Price(keys []PairKey) ([]Price, []error) {
	prices, errs := make([]Price, len(keys)), make([]error, len(keys))
	var known []PairKey
	var at []int
	for i, key := range keys {
		if _, ok := g.lookup(key.Metric); !ok {
			errs[i] = ErrUnknownMetric{key.Metric}
			continue
		}
		known, at = append(known, key), append(at, i)
	}
	if len(known) == 0 {
		return prices, errs
	}
	p, e := g.inst.Price(known)
	if len(p) != len(known) || len(e) != len(known) {
		panic("BUG: the Instrumenter did not price every pair")
	}
	for j, i := range at {
		prices[i], errs[i] = p[j], e[j]
	}
	g.rememberPrices(keys, prices, errs)
	return prices, errs
}

func (g *Grid) rememberPrices(keys []PairKey, prices []Price, errs []error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.prices)+len(keys) > maxPrices {
		clear(g.prices)
	}
	for i, key := range keys {
		if errs[i] == nil && len(g.prices) < maxPrices {
			g.prices[key] = prices[i]
		}
	}
}

// ObservedCost is the fraction of the target's active time that all enabled probes, and what the kernel keeps for them, used over the last second
// or so.
func (g *Grid) ObservedCost() float64 { return g.inst.ObservedCost() }

// Costs are the fractions of the target's active time that the probes of single pairs took when that was last looked at.
func (g *Grid) Costs() map[PairKey]float64 { return g.inst.Costs() }

// SamplingInterval is how often sampling makes sense, in seconds: the width of the narrowest bins that are being filled.
func (g *Grid) SamplingInterval() float64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	w := g.global.group.Width()
	if g.current != nil {
		w = min(w, g.current.group.Width())
	}
	return w
}

// Sample takes a value; it is what the Instrumenter calls. Values of pairs that are not enabled are counted in Dropped.
func (g *Grid) Sample(key PairKey, start, end, value float64) {
	g.sample(key, start, end, heldAt(value))
}

func (g *Grid) sample(key PairKey, start, end float64, v Held) {
	g.mu.RLock()
	p := g.pairs[key]
	if p == nil || !p.active {
		g.mu.RUnlock()
		g.dropped.Add(1)
		return
	}
	p.recent.add(p.metric.Style, start, end, v.Mean)
	folded, group := p.global.addLocked(start, end, v)
	var folded2 float64
	var group2 *FoldGroup
	if p.current != nil {
		folded2, group2 = p.current.addLocked(start, end, v)
	}
	for i := len(p.past) - 1; i >= 0 && p.past[i].Phase.End > start; i-- {
		p.past[i].Histogram.addLocked(start, end, v) // the part before the phase ended
	}
	g.mu.RUnlock()
	select {
	case g.news <- struct{}{}:
	default: // it is known
	}
	if folded > 0 {
		group.told(folded)
	}
	if folded2 > 0 {
		group2.told(folded2)
	}
	if g.watched() {
		g.notify(Change{Kind: ValueAdded, Key: key, Start: start, End: end, Value: v.Mean})
	}
}

// Distribute takes the growth of a distribution; it is what the Instrumenter calls. That of pairs that are not enabled, or whose
// metric has no Values, is counted in Dropped.
func (g *Grid) Distribute(key PairKey, start, end float64, growth *Distribution) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	p := g.pairs[key]
	if p == nil || !p.active || p.values == nil {
		g.dropped.Add(1)
		return
	}
	p.values.Add(start, end, growth)
}

// Distribution is that of a pair's values in a phase: 0 is the whole session, others as Phases numbers them, to the nearest edges
// of intervals (see Spread.Between). False if there is no such phase or pair, or if its metric has no Values.
func (g *Grid) Distribution(key PairKey, phase int) (Distribution, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	p := g.pairs[key]
	if p == nil || p.values == nil || phase < 0 || phase >= len(g.phases) {
		return Distribution{}, false
	}
	if phase == 0 {
		return p.values.Total(), true
	}
	ph := g.phases[phase]
	if ph.End == 0 {
		ph.End = math.Inf(1)
	}
	return p.values.Between(ph.Start, ph.End), true
}

// addLocked adds without calling anyone; it returns the new width if there was a fold, and the group to be told.
func (h *Histogram) addLocked(start, end float64, v Held) (float64, *FoldGroup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.addHeld(start, end, v), h.group
}

// News gives one message when values came since the last one was received, however many: while there is none, all histograms stay the same.
// It is for one reader.
func (g *Grid) News() <-chan struct{} { return g.news }

// Dropped is how many values came for pairs that were not enabled.
func (g *Grid) Dropped() uint64 { return g.dropped.Load() }

// Compare orders pairs: by metric, then by focus.
func (k PairKey) Compare(l PairKey) int {
	return cmp.Or(strings.Compare(k.Metric, l.Metric), k.Focus.Compare(l.Focus))
}

// A Snapshot is what a pair looked like at one moment. Numbers are over the whole session, in Metric.RateUnits and (Sum)
// in Metric.SumUnits; NaN where nothing is known.
type Snapshot struct {
	Key     PairKey
	Metric  Metric
	Tier    Tier
	Since   float64 // s since session start from which values are complete
	Enabled bool
	Cost    Price // as last predicted; zero if never asked

	Current, Average, Sum, Min, Max float64

	Histogram *Histogram       // of the global phase; live
	Phases    []PhaseHistogram // of the latest ended phases and the current one, oldest first; the last is live
	Values    *Spread          // live; nil unless the metric has Values
}

// Pair looks at one pair; false if it was never enabled or has been dropped.
func (g *Grid) Pair(key PairKey) (Snapshot, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	p := g.pairs[key]
	if p == nil {
		return Snapshot{}, false
	}
	return g.snapshot(p), true
}

// Pairs looks at all pairs, in the order of PairKey.Compare.
func (g *Grid) Pairs() []Snapshot {
	g.mu.RLock()
	out := make([]Snapshot, 0, len(g.pairs))
	for _, p := range g.pairs {
		out = append(out, g.snapshot(p))
	}
	g.mu.RUnlock()
	slices.SortFunc(out, func(a, b Snapshot) int { return a.Key.Compare(b.Key) })
	return out
}

// Histogram is that of a pair in a phase: 0 is the global one, others as Phases numbers them. False if there is none;
// those of ended phases are kept for the latest four.
func (g *Grid) Histogram(key PairKey, phase int) (*Histogram, bool) {
	s, ok := g.Pair(key)
	if !ok {
		return nil, false
	}
	if phase == 0 {
		return s.Histogram, true
	}
	for _, p := range s.Phases {
		if p.Phase.ID == phase {
			return p.Histogram, true
		}
	}
	return nil, false
}

// snapshot is made with the mutex held.
func (g *Grid) snapshot(p *pair) Snapshot {
	s := Snapshot{
		Key: p.key, Metric: p.metric, Tier: p.tier, Since: p.since, Enabled: p.refs > 0, Cost: g.prices[p.key],
		Histogram: p.global, Values: p.values,
	}
	st := p.global.Stats(math.Inf(-1), math.Inf(1))
	s.Current, s.Average, s.Sum, s.Min, s.Max = p.global.Current(), st.Average, st.Sum, st.Min, st.Max
	if len(p.past) > 0 {
		s.Phases = append(s.Phases, p.past...)
	}
	if p.current != nil && g.current != nil {
		s.Phases = append(s.Phases, PhaseHistogram{g.current.Phase, p.current})
	}
	return s
}
