package serve

import (
	"context"

	"culprit/grid"
	"culprit/grid/wire"
)

// obey does what a command says.
func (s *server) obey(ctx context.Context, c *wire.Command) (a wire.Answer, err error) {
	d := s.daemon // set before any other command is taken
	switch {
	case c.Attach != nil:
		return s.attach(ctx, c.Attach)
	case c.Price != nil:
		return s.price(c.Price)
	case c.Enable != nil:
		return s.enable(c.Enable)
	case c.Disable != nil:
		return s.disable(c.Disable)
	case c.Refine != nil:
		return s.refine(c.Refine)
	case c.Weigh != nil:
		return s.weigh(c.Weigh)
	case c.ListCode != nil:
		d.ListCode()
	case c.ListLoops != nil:
		a.Names, err = d.ListLoops(c.ListLoops.Module, c.ListLoops.Function)
	case c.Describe != nil:
		return s.describe(c.Describe)
	case c.Account != nil:
		a.Account = accountOf(d)
	case c.Detach != nil:
		a.Clean, err = d.Detach()
		s.out.look()
	}
	return a, err
}

func (s *server) attach(ctx context.Context, c *wire.Attach) (a wire.Answer, err error) {
	d, err := s.o.Attach(ctx, c, s.out.log)
	if err != nil {
		s.mu.Lock()
		s.attaching = false // it may be tried again
		s.mu.Unlock()
		return a, err
	}
	s.mu.Lock()
	s.daemon = d
	s.mu.Unlock()
	s.out.follow(d)
	a.Now = d.Now()
	return a, nil
}

// pairs are the keys of pairs that came, which are known by their numbers from then on.
func (s *server) pairs(list []wire.Pair) ([]grid.PairKey, error) {
	keys := make([]grid.PairKey, len(list))
	for i, p := range list {
		k, err := p.Key()
		if err != nil {
			return nil, err
		}
		keys[i] = k
	}
	return keys, nil
}

func (s *server) price(c *wire.Pairs) (a wire.Answer, err error) {
	keys, err := s.pairs(c.Keys)
	if err != nil {
		return a, err
	}
	prices, errs := s.daemon.Price(keys)
	for i := range keys {
		a.Prices = append(a.Prices, wire.Price{Price: prices[i], Err: s.o.Kinds.Encode(errs[i])})
	}
	return a, nil
}

func (s *server) enable(c *wire.Pairs) (a wire.Answer, err error) {
	keys, err := s.pairs(c.Keys)
	if err != nil {
		return a, err
	}
	s.out.number(c.Keys, keys)
	byKey := map[grid.PairKey]grid.EnableResult{}
	for _, r := range s.daemon.Enable(keys, s.out) {
		byKey[r.Key] = r
	}
	for _, k := range keys {
		r := byKey[k]
		a.Results = append(a.Results, wire.Result{Tier: string(r.Tier), Since: r.Since, Err: s.o.Kinds.Encode(r.Err)})
	}
	return a, nil
}

func (s *server) disable(c *wire.Pairs) (a wire.Answer, err error) {
	keys, err := s.pairs(c.Keys)
	if err == nil {
		s.daemon.Disable(keys)
	}
	return a, err
}

func (s *server) describe(c *wire.Describe) (a wire.Answer, err error) {
	d, out := s.daemon, &wire.Descriptions{}
	keys, err := s.pairs(c.Pairs)
	if err != nil {
		return a, err
	}
	for _, k := range keys {
		one := wire.Description{Notes: d.Notes(k), Unsure: d.Unsure(k)}
		one.Error, one.HasError = d.Uncertainty(k)
		one.Places, one.Probed = d.Placed(k)
		out.Pairs = append(out.Pairs, one)
	}
	for _, m := range c.Metrics {
		out.Unseen = append(out.Unseen, d.Unseen(m))
	}
	for _, w := range c.Sources {
		f, err := w.Focus()
		if err != nil {
			return a, err
		}
		file, line := d.Source(f)
		out.Sources = append(out.Sources, wire.Source{File: file, Line: line})
	}
	for _, w := range c.Holders {
		f, err := w.Focus()
		if err != nil {
			return a, err
		}
		out.Holders = append(out.Holders, d.Holders(f))
	}
	if c.Idle {
		idle := d.Idle()
		out.Idle = &idle
	}
	if len(c.Functions) > 0 {
		out.SeenMost = d.SeenMost(c.Functions, c.PIDs...)
	}
	a.Descriptions = out
	return a, nil
}

func accountOf(d Daemon) *wire.Account {
	a := &wire.Account{Overhead: d.Overhead(), Probes: d.Probes()}
	used, share := d.UnmeasuredChildren()
	a.UnmeasuredNS, a.UnmeasuredShare = used.Nanoseconds(), share
	return a
}
