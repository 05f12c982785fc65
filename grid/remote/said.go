package remote

import (
	"slices"
	"sync"
	"time"

	"culprit/grid"
	"culprit/grid/wire"
)

// saidFor is how long what the daemon has said of pairs, metrics and locks is believed, and soughtFor how long it is asked again what somebody
// wanted to know.
const (
	saidFor   = time.Second
	soughtFor = 3 * time.Second
)

// said is what the daemon has said.
type said struct {
	pairs   answers[grid.PairKey, wire.Description]
	unseen  answers[string, string]
	sources answers[grid.Focus, wire.Source]
	holders answers[grid.Focus, []grid.Holder]
	idle    answers[struct{}, grid.Idle]
}

func (s *said) init() {
	s.pairs.init()
	s.unseen.init()
	s.sources.init()
	s.holders.init()
	s.idle.init()
}

// answers are what is known of one kind of thing.
type answers[K comparable, V any] struct {
	mu     sync.Mutex
	known  map[K]answer[V]
	sought map[K]time.Time
}

type answer[V any] struct {
	v  V
	at time.Time
}

func (a *answers[K, V]) init() { a.known, a.sought = map[K]answer[V]{}, map[K]time.Time{} }

// of is what is known of one thing; else ask asks for it, for what else somebody wanted to know lately, and for what may be wanted next, and answers in
// that order.
func (a *answers[K, V]) of(k K, next func() []K, ask func([]K) []V) V {
	now := time.Now()
	a.mu.Lock()
	a.sought[k] = now
	if known, ok := a.known[k]; ok && now.Sub(known.at) <= saidFor {
		a.mu.Unlock()
		return known.v
	}
	a.mu.Unlock()
	also := next()
	a.mu.Lock()
	for _, other := range also {
		a.sought[other] = now
	}
	list := []K{k}
	for other, at := range a.sought {
		switch {
		case now.Sub(at) > soughtFor:
			delete(a.sought, other)
			delete(a.known, other)
		case other != k && len(list) < besides:
			list = append(list, other)
		}
	}
	a.mu.Unlock()
	values := ask(list)
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, v := range values[:min(len(values), len(list))] {
		a.known[list[i]] = answer[V]{v, time.Now()}
	}
	return a.known[k].v
}

func nothing[K any]() []K { return nil }

// describe asks for descriptions; empty ones if the connection is lost.
func (d *Daemon) describe(c wire.Describe) wire.Descriptions {
	a, err := d.ask(wire.Command{Describe: &c})
	if err != nil || a.Descriptions == nil {
		return wire.Descriptions{}
	}
	return *a.Descriptions
}

func (d *Daemon) descriptionOf(key grid.PairKey) wire.Description {
	return d.said.pairs.of(key, d.enabled, func(keys []grid.PairKey) []wire.Description {
		return d.describe(wire.Describe{Pairs: d.pairs(keys).Keys}).Pairs
	})
}

// enabled are the pairs that are measured: who asks about one asks about the others next.
func (d *Daemon) enabled() (keys []grid.PairKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range d.sinks {
		keys = append(keys, d.keys[id])
	}
	return keys
}

// metrics are those of all pairs that were asked for.
func (d *Daemon) metrics() (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.keys {
		if !slices.Contains(names, k.Metric) {
			names = append(names, k.Metric)
		}
	}
	return names
}

// Notes are what is to be said of the values of a pair; "" if nothing.
func (d *Daemon) Notes(key grid.PairKey) string { return d.descriptionOf(key).Notes }

// Unsure is why nothing can be concluded from the values of a pair; "" if that is not so.
func (d *Daemon) Unsure(key grid.PairKey) string { return d.descriptionOf(key).Unsure }

// Uncertainty is the standard error of the average of a pair, if it has one.
func (d *Daemon) Uncertainty(key grid.PairKey) (err float64, ok bool) {
	one := d.descriptionOf(key)
	return one.Error, one.HasError
}

// Placed is in how many places a pair has probes; ok is false for one that is not measured, or needs none.
func (d *Daemon) Placed(key grid.PairKey) (places int, ok bool) {
	one := d.descriptionOf(key)
	return one.Places, one.Probed
}

// Unseen is what of a metric cannot be seen in the program; "" if nothing.
func (d *Daemon) Unseen(metric string) string {
	return d.said.unseen.of(metric, d.metrics, func(metrics []string) []string {
		return d.describe(wire.Describe{Metrics: metrics}).Unseen
	})
}

// Source is where the function of a focus is written; "" if that is not known.
func (d *Daemon) Source(f grid.Focus) (file string, line int) {
	one := d.said.sources.of(f, nothing[grid.Focus], func(foci []grid.Focus) []wire.Source {
		return d.describe(wire.Describe{Sources: fociOf(foci)}).Sources
	})
	return one.File, one.Line
}

// Holders are who had the lock of a focus while others waited for it.
func (d *Daemon) Holders(f grid.Focus) []grid.Holder {
	return d.said.holders.of(f, nothing[grid.Focus], func(foci []grid.Focus) [][]grid.Holder {
		return d.describe(wire.Describe{Holders: fociOf(foci)}).Holders
	})
}

// Idle is where threads had nothing to do lately.
func (d *Daemon) Idle() grid.Idle {
	return d.said.idle.of(struct{}{}, nothing[struct{}], func([]struct{}) []grid.Idle {
		if idle := d.describe(wire.Describe{Idle: true}).Idle; idle != nil {
			return []grid.Idle{*idle}
		}
		return nil
	})
}

func fociOf(foci []grid.Focus) (list []wire.Focus) {
	for _, f := range foci {
		list = append(list, wire.FocusOf(f))
	}
	return list
}
