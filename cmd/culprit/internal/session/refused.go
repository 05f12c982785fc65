package session

import (
	"errors"
	"fmt"

	"culprit/grid"
)

// tellRefused tells of each pair that a watch names, and that was refused, the first time.
func (w *watcher) tellRefused() {
	for _, key := range w.untold() {
		w.mu.Lock()
		s := w.state[key]
		err := s.err
		w.mu.Unlock()
		if err == nil {
			continue
		}
		err = WithSimilarCode(w.daemon, err, key.Focus)
		w.mu.Lock()
		if s.err != nil {
			s.err = err
		}
		w.mu.Unlock()
		if w.onRefused != nil {
			w.onRefused(key, err)
		}
	}
}

// untold are the pairs to tell of; they are so no more.
func (w *watcher) untold() (keys []grid.PairKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range w.named() {
		if s := w.state[key]; s != nil && s.err != nil && !s.retry && !s.told {
			s.told = true
			keys = append(keys, key)
		}
	}
	return keys
}

// named are the pairs that watches without a star stand for, in their order. w.mu is held.
func (w *watcher) named() (keys []grid.PairKey) {
	for _, one := range w.watches {
		if key, ok := w.asked[one.Key]; ok && !one.every {
			keys = append(keys, key)
		}
	}
	return keys
}

// Unmeasured says which pairs that watches name could not be measured, and why; nil if all were.
func (s *Session) Unmeasured() error { return s.watch.unmeasured() }

func (w *watcher) unmeasured() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []error
	for _, key := range w.named() {
		err := w.state[key].err
		if w.state[key].retry {
			err = errNotEnabled
		}
		if err != nil {
			all = append(all, fmt.Errorf("%v was not measured: %w", clean(key.String()), err))
		}
	}
	return errors.Join(all...)
}
