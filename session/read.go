package session

import (
	"errors"
	"fmt"
	"math"

	"culprit/grid"
	"culprit/pcl"
)

// Read is what a view shows of a watched pair, from when it was enabled until Close: its average in the unit of its rate, or something
// of its single values in their unit. The error says why there is nothing.
func (s *Session) Read(key grid.PairKey, view pcl.View) (float64, error) {
	if err := s.watch.unsure(key); err != nil {
		return math.NaN(), err
	}
	average, err := s.watch.average(key)
	if view == pcl.Average || err != nil && !isNoValue(err) {
		return average, err
	}
	return s.watch.ofValues(key, view)
}

// An Asked is what became of a pair that was asked for.
type Asked struct {
	Err    error  // why it is not measured; nil if it is, or was
	Note   string // what its value does not tell of; known after Close
	Places int    // in how many places its probes were at Close; valid if Probed is set
	Probed bool
}

// Asked says what became of a pair of Enable, or of a watch without a star.
func (s *Session) Asked(key grid.PairKey) Asked { return s.watch.became(key) }

func (w *watcher) became(key grid.PairKey) Asked {
	w.mu.Lock()
	defer w.mu.Unlock()
	if real, ok := w.asked[key]; ok {
		key = real
	}
	s := w.state[key]
	switch {
	case s == nil:
		return Asked{Err: errNotWatched}
	case s.err == nil && s.retry:
		return Asked{Err: errNotEnabled}
	}
	return Asked{Err: s.err, Note: s.end.untold, Places: s.end.places, Probed: s.end.probed}
}

// Pair is what was measured of a pair so far; ok is false if it never was.
func (s *Session) Pair(key grid.PairKey) (grid.Snapshot, bool) { return s.grid.Pair(key) }

// Distribution is that of the single values of a pair; ok is false if it keeps none.
func (s *Session) Distribution(key grid.PairKey) (grid.Distribution, bool) {
	return s.grid.Distribution(key, 0)
}

// unsure says why nothing may be concluded from the value of a pair; nil if it may.
func (w *watcher) unsure(key grid.PairKey) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if real, ok := w.asked[key]; ok {
		key = real
	}
	if s := w.state[key]; s != nil && s.end.unsure != "" {
		return errors.New(s.end.unsure)
	}
	return nil
}

// Notes are what the values of the watched pairs do not tell of, a line for each; known after Close.
func (s *Session) Notes() []string { return s.watch.notes() }

func isNoValue(err error) bool { return err == errNoValue }

// ofValues reads the distribution of a pair that was enabled.
func (w *watcher) ofValues(key grid.PairKey, view pcl.View) (float64, error) {
	w.mu.Lock()
	if real, ok := w.asked[key]; ok {
		key = real
	}
	w.mu.Unlock()
	d, ok := w.grid.Distribution(key, 0)
	if !ok {
		return math.NaN(), fmt.Errorf("%v keeps no single values there", key)
	}
	v := d.Mean()
	if q, is := view.Quantile(); is {
		v = d.Quantile(q)
	}
	switch {
	case view == pcl.Count:
		return float64(d.Count()), nil
	case d.Count() == 0:
		return math.NaN(), errNoValue
	case math.IsNaN(v) || math.IsInf(v, 0):
		return v, fmt.Errorf("the %s of %v is below 0, where single values are not kept", view, key)
	}
	return v, nil
}
