package replay

import (
	"context"
	"slices"
	"sync"
	"time"

	"culprit/grid"
	"culprit/grid/wire"
)

// timeZero is the time of a message of a recording: there, none is waited for.
var timeZero time.Time

// playEvery is how often values are given out, and over which intervals they are made up where none were recorded.
const playEvery = 200 * time.Millisecond

// A Daemon measures again what was recorded, at the speed at which it happened.
type Daemon struct {
	rec   *Recording
	kinds *wire.Kinds
	tree  *grid.Tree
	began time.Time

	mu      sync.Mutex
	enabled map[grid.PairKey]*playing
	next    int // of the recording's resources
	ended   chan struct{}
	stop    context.CancelFunc
	playing sync.WaitGroup
}

// playing is a pair that is being measured again.
type playing struct {
	sink  grid.Sink
	m     *measured
	until float64 // up to where values were given out
}

// Play begins to measure again. kinds are those with which it was recorded. Detach ends it.
func (r *Recording) Play(kinds *wire.Kinds) *Daemon {
	ctx, stop := context.WithCancel(context.Background())
	d := &Daemon{rec: r, kinds: kinds, tree: grid.NewTree(), began: time.Now(), enabled: map[grid.PairKey]*playing{}, ended: make(chan struct{}), stop: stop}
	d.advance(0)
	d.playing.Go(func() { d.run(ctx) })
	return d
}

func (d *Daemon) run(ctx context.Context) {
	t := time.NewTicker(playEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now := d.Now()
		d.advance(now)
		if now >= d.rec.seconds {
			close(d.ended)
			return
		}
	}
}

// advance tells what happened up to a time.
func (d *Daemon) advance(now float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; d.next < len(d.rec.resources) && d.rec.resources[d.next].at <= now; d.next++ {
		r := d.rec.resources[d.next].v
		_ = d.tree.Apply(grid.TreeEvent{Change: grid.TreeChange(r.Change), Hierarchy: grid.Hierarchy(r.Hierarchy), Path: r.Path, Label: r.Label}) // it had room for it
	}
	for key, p := range d.enabled {
		p.give(key, now)
	}
}

// give gives out values up to now: those that were recorded, and where there are none what the pair was on average.
func (p *playing) give(key grid.PairKey, now float64) {
	i, _ := slices.BinarySearchFunc(p.m.values, p.until, func(v wire.Value, t float64) int { return compare(v.Start, t) })
	for ; i < len(p.m.values) && p.m.values[i].End <= now; i++ {
		v := p.m.values[i]
		p.fill(key, v.Start)
		v.Give(p.sink, key)
		p.until = v.End
	}
	if i >= len(p.m.values) || p.m.values[i].Start > now {
		p.fill(key, now)
	}
}

// fill makes values up to a time.
func (p *playing) fill(key grid.PairKey, end float64) {
	for step := playEvery.Seconds(); end-p.until > step/2; {
		next := min(p.until+step, end)
		if v, ok := p.m.average(p.until, next); ok {
			v.Give(p.sink, key)
		}
		p.until = next
	}
	p.until = max(p.until, end)
}

// average is what the pair was on average, over an interval; false of distributions, and of what has no values.
func (m *measured) average(start, end float64) (v wire.Value, ok bool) {
	var sum, span float64
	var last *grid.Held
	for _, x := range m.values {
		if x.Dist != nil {
			continue
		}
		if x.Held != nil {
			last = x.Held
			continue
		}
		sum, span = sum+x.Value, span+x.End-x.Start
	}
	v = wire.Value{Start: start, End: end, Held: last}
	if last == nil && span > 0 {
		v.Value = sum / span * (end - start)
	}
	return v, last != nil || span > 0
}

// notRecorded is why a pair cannot be measured again.
func notRecorded(key grid.PairKey) error {
	return grid.ErrUnsupported{What: key.String(), Needs: "a recording of a session in which it was measured"}
}

// Price implements grid.Instrumenter.
func (d *Daemon) Price(keys []grid.PairKey) ([]grid.Price, []error) {
	prices, errs := make([]grid.Price, len(keys)), make([]error, len(keys))
	for i, k := range keys {
		switch m := d.rec.pairs[k]; {
		case m == nil:
			errs[i] = notRecorded(k)
		case m.price != nil:
			prices[i], errs[i] = m.price.Price, d.kinds.Decode(m.price.Err)
		}
	}
	return prices, errs
}

// Enable implements grid.Instrumenter.
func (d *Daemon) Enable(keys []grid.PairKey, sink grid.Sink) []grid.EnableResult {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	results := make([]grid.EnableResult, len(keys))
	for i, k := range keys {
		results[i] = grid.EnableResult{Key: k, Since: now}
		switch m := d.rec.pairs[k]; {
		case m == nil || m.tier == "" && m.err == nil:
			results[i].Err = notRecorded(k)
		case m.tier == "":
			results[i].Err = d.kinds.Decode(m.err)
		default:
			results[i].Tier = grid.Tier(m.tier)
			d.enabled[k] = &playing{sink, m, now}
		}
	}
	return results
}

// Disable implements grid.Instrumenter.
func (d *Daemon) Disable(keys []grid.PairKey) {
	d.advance(d.Now())
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range keys {
		delete(d.enabled, k)
	}
}

// Detach ends it.
func (d *Daemon) Detach() (clean bool, err error) {
	d.stop()
	d.playing.Wait()
	return true, nil
}
