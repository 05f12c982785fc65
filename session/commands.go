package session

import (
	"context"
	"errors"

	"culprit/consultant"
	"culprit/grid"
)

// What a client may ask of a session while it is open, beside Run.

// Enable has pairs measured that were not named in Config.Watches, in one batch. Those that are not possible yet are tried
// again until Config.Patience is over or ctx ends. Asked says what became of each.
func (s *Session) Enable(ctx context.Context, keys ...grid.PairKey) {
	s.pairs.watch.Ask(ctx, s.cfg.Patience, keys)
	s.announce()
}

// Disable ends measuring pairs that were enabled; their values stay readable.
func (s *Session) Disable(keys ...grid.PairKey) { s.grid.Disable(keys...) }

// Search searches until ctx ends: again each time it had nothing to do, since values may change. Only one Search, or Run,
// at a time is allowed. The error says why there can be no search.
func (s *Session) Search(ctx context.Context) error {
	if s.search == nil {
		return errNoSearch
	}
	for ctx.Err() == nil {
		if err := s.search.Run(ctx); err != nil {
			return err
		}
		pause(ctx, tick)
	}
	return nil
}

// Settled reports whether the search has nothing to test at the moment; true without a search.
func (s *Session) Settled() bool { return s.search == nil || s.search.Settled() }

// Nodes are the nodes of the search, none without one.
func (s *Session) Nodes() []consultant.Node {
	if s.search == nil {
		return nil
	}
	return s.search.Nodes()
}

var errNoSearch = errors.New("this session does not search (--no-search)")

// Expand tests the refinements of a node now, whatever its state; for manual refinement.
func (s *Session) Expand(id int) error { return s.manual((*consultant.Search).Expand, id) }

// Prune takes a node and what is below it out of the search.
func (s *Session) Prune(id int) error { return s.manual((*consultant.Search).Prune, id) }

// Retest tests a node again.
func (s *Session) Retest(id int) error { return s.manual((*consultant.Search).Retest, id) }

func (s *Session) manual(f func(*consultant.Search, int) error, id int) error {
	if s.search == nil {
		return errNoSearch
	}
	return f(s.search, id)
}
