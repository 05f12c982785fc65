package session

import (
	"errors"
	"math"

	"culprit/grid"
)

// WatchOf is a watch of one pair.
func WatchOf(key grid.PairKey) Watch { return Watch{Text: key.String(), Key: key} }

var (
	errNotWatched = errors.New("it was not watched")
	errNotEnabled = errors.New("the session ended before it was enabled")
	errNoValue    = errors.New("nothing was recorded: what it measures did not happen, the session or the target ended too early, or no thread was active")
)

// Pointless reports whether some watched pair was about nothing that the targets have, to the end: its function is missing, ambiguous or
// inlined everywhere, or its module is missing. A star that stands for nothing does not count.
func (s *Session) Pointless() bool { return s.watch.pointless() }

// average is the average of a watched pair, in the unit of its rate, from when it was enabled until Close; the error says why there is
// none.
func (w *watcher) average(key grid.PairKey) (float64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if real, ok := w.asked[key]; ok {
		key = real
	}
	s := w.state[key]
	switch {
	case s == nil:
		return math.NaN(), errNotWatched
	case s.err != nil:
		return math.NaN(), s.err
	case s.retry:
		return math.NaN(), errNotEnabled
	}
	snap, ok := w.grid.Pair(key)
	if !ok || math.IsNaN(snap.Average) {
		return math.NaN(), errNoValue
	}
	return snap.Average, nil
}
