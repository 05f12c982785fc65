package watch

import (
	"math"

	"culprit/grid"
)

// A State is what became of a pair.
type State struct {
	Err     error   // why it is not measured
	Waiting bool    // it is to be enabled, or tried again
	Since   float64 // s since the session started; from when on it is measured
	Named   bool    // somebody named it, not only a star that stands for it
}

// Enabled reports whether the pair is measured, or was until it was disabled.
func (s State) Enabled() bool { return s.Err == nil && !s.Waiting }

// State says what became of a pair; ok is false for one that nobody has asked for.
func (w *Watcher) State(key grid.PairKey) (s State, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.state[key]
	if one == nil {
		return State{}, false
	}
	for _, real := range w.asked {
		s.Named = s.Named || real == key
	}
	s.Err, s.Waiting, s.Since = one.err, one.retry, one.since
	return s, true
}

// Real is the pair that is measured for one that somebody names: a process may be named by its number.
func (w *Watcher) Real(key grid.PairKey) grid.PairKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	if real, ok := w.asked[key]; ok {
		return real
	}
	return key
}

// Shown are the pairs that somebody has asked for, in the order in which they came.
func (w *Watcher) Shown() []grid.PairKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown()
}

// Enabled are the pairs that are measured, or were until they were disabled, and since when the first of them is, in s since the
// session started (+Inf if there is none). There may be some that only help to find others.
func (w *Watcher) Enabled() (keys []grid.PairKey, first float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first = math.Inf(1)
	for _, key := range w.order {
		if s := w.state[key]; s.enabled() {
			keys, first = append(keys, key), min(first, s.since)
		}
	}
	return keys, first
}
