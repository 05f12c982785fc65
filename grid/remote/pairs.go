package remote

import (
	"slices"

	"culprit/grid"
	"culprit/grid/wire"
)

// pairs are keys as they are sent. A key has the same number in the whole connection.
func (d *Daemon) pairs(keys []grid.PairKey) *wire.Pairs {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]wire.Pair, len(keys))
	for i, k := range keys {
		id, ok := d.ids[k]
		if !ok {
			id = uint32(len(d.keys))
			d.ids[k], d.keys = id, append(d.keys, k)
		}
		list[i] = wire.PairOf(id, k)
	}
	return &wire.Pairs{Keys: list}
}

// Price implements grid.Instrumenter.
func (d *Daemon) Price(keys []grid.PairKey) ([]grid.Price, []error) {
	prices, errs := make([]grid.Price, len(keys)), make([]error, len(keys))
	a, err := d.ask(wire.Command{Price: d.pairs(keys)})
	for i := range keys {
		switch {
		case err != nil:
			errs[i] = err
		case i >= len(a.Prices):
			errs[i] = wire.ErrFrame{Why: "an answer without a price"}
		default:
			prices[i], errs[i] = a.Prices[i].Price, d.o.Kinds.Decode(a.Prices[i].Err)
		}
	}
	return prices, errs
}

// Enable implements grid.Instrumenter.
func (d *Daemon) Enable(keys []grid.PairKey, sink grid.Sink) []grid.EnableResult {
	pairs := d.pairs(keys)
	d.mu.Lock()
	for _, p := range pairs.Keys {
		d.sinks[p.ID] = sink // values may come before the answer
	}
	d.mu.Unlock()
	a, err := d.ask(wire.Command{Enable: pairs})
	results := make([]grid.EnableResult, len(keys))
	for i, k := range keys {
		r := &results[i]
		r.Key = k
		switch {
		case err != nil:
			r.Err = err
		case i >= len(a.Results):
			r.Err = wire.ErrFrame{Why: "an answer without a result"}
		default:
			r.Tier, r.Since, r.Err = grid.Tier(a.Results[i].Tier), a.Results[i].Since, d.o.Kinds.Decode(a.Results[i].Err)
		}
	}
	return results
}

// Disable implements grid.Instrumenter: the values that came before the answer have been given out when it returns.
func (d *Daemon) Disable(keys []grid.PairKey) {
	pairs := d.pairs(keys)
	_, _ = d.ask(wire.Command{Disable: pairs}) // where it fails nothing more comes
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range pairs.Keys {
		delete(d.sinks, p.ID)
	}
}

// value gives a value to its sink. One that belongs to no pair is dropped.
func (d *Daemon) value(v *wire.Value) {
	d.mu.Lock()
	sink := d.sinks[v.ID]
	var key grid.PairKey
	if int(v.ID) < len(d.keys) {
		key = d.keys[v.ID]
	}
	d.mu.Unlock()
	if sink != nil {
		v.Give(sink, key)
	}
}

// ListCode has modules and functions told as resources.
func (d *Daemon) ListCode() { _, _ = d.ask(wire.Command{ListCode: &wire.Nothing{}}) }

// ListLoops names the loops of a function, which are resources from then on.
func (d *Daemon) ListLoops(module, function string) ([]string, error) {
	a, err := d.ask(wire.Command{ListLoops: &wire.ListLoops{Module: module, Function: function}})
	return a.Names, err
}

// Detach has the daemon remove all probes, and ends the connection.
func (d *Daemon) Detach() (clean bool, err error) {
	a, err := d.ask(wire.Command{Detach: &wire.Nothing{}})
	if account, e := d.ask(wire.Command{Account: &wire.Nothing{}}); e == nil {
		d.picture.keep(account.Account)
	}
	d.lose(errLeft)
	return a.Clean, err
}

// SeenMost is which of some functions was on most stacks lately.
func (d *Daemon) SeenMost(functions []string, pids ...int) string {
	if len(functions) == 0 {
		return ""
	}
	a, err := d.ask(wire.Command{Describe: &wire.Describe{Functions: slices.Clone(functions), PIDs: pids}})
	if err != nil || a.Descriptions == nil {
		return ""
	}
	return a.Descriptions.SeenMost
}
