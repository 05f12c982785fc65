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
	if err := s.pairs.unsure(key); err != nil {
		return math.NaN(), err
	}
	average, err := s.pairs.average(key)
	if view == pcl.Average || err != nil && err != errNoValue {
		return average, err
	}
	return s.pairs.ofValues(key, view)
}

// An Asked is what became of a pair that was asked for.
type Asked struct {
	Err    error  // why it is not measured; nil if it is, or was
	Note   string // what its value does not tell of; known after Close
	Places int    // in how many places its probes were at Close; valid if Probed is set
	Probed bool
}

// Asked says what became of a pair of Enable, or of a watch without a star.
func (s *Session) Asked(key grid.PairKey) Asked { return s.pairs.became(key) }

func (r *pairReader) became(key grid.PairKey) Asked {
	key = r.watch.Real(key)
	s, ok := r.watch.State(key)
	switch {
	case !ok:
		return Asked{Err: errNotWatched}
	case s.Err == nil && s.Waiting:
		return Asked{Err: errNotEnabled}
	}
	e, _ := r.end(key)
	return Asked{Err: s.Err, Note: e.untold, Places: e.places, Probed: e.probed}
}

// Pair is what was measured of a pair so far; ok is false if it never was.
func (s *Session) Pair(key grid.PairKey) (grid.Snapshot, bool) { return s.grid.Pair(key) }

// Distribution is that of the single values of a pair; ok is false if it keeps none.
func (s *Session) Distribution(key grid.PairKey) (grid.Distribution, bool) {
	return s.grid.Distribution(key, 0)
}

// unsure says why nothing may be concluded from the value of a pair; nil if it may.
func (r *pairReader) unsure(key grid.PairKey) error {
	if e, _ := r.end(r.watch.Real(key)); e.unsure != "" {
		return errors.New(e.unsure)
	}
	return nil
}

// Notes are what the values of the watched pairs do not tell of, a line for each; known after Close.
func (s *Session) Notes() []string { return s.pairs.notes() }

// Pointless reports whether some watched pair was about nothing that the targets have, to the end: its function is missing, ambiguous or
// inlined everywhere, or its module is missing. A star that stands for nothing does not count.
func (s *Session) Pointless() bool { return s.pairs.watch.Pointless() }

var (
	errNotWatched = errors.New("it was not watched")
	errNotEnabled = errors.New("the session ended before it was enabled")
	errNoValue    = errors.New("nothing was recorded: what it measures did not happen, the session or the target ended too early, or no thread was active")
)

// average is the average of a watched pair, in the unit of its rate, from when it was enabled until Close; the error says why there is
// none.
func (r *pairReader) average(key grid.PairKey) (float64, error) {
	if err := r.became(key).Err; err != nil {
		return math.NaN(), err
	}
	snap, ok := r.grid.Pair(r.watch.Real(key))
	if !ok || math.IsNaN(snap.Average) {
		return math.NaN(), errNoValue
	}
	return snap.Average, nil
}

// ofValues reads the distribution of a pair that was enabled.
func (r *pairReader) ofValues(key grid.PairKey, view pcl.View) (float64, error) {
	key = r.watch.Real(key)
	d, ok := r.grid.Distribution(key, 0)
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
