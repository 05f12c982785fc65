// Package later keeps account of the ways of refinement that were walked before: when each is looked at again for what appears later, and
// which of what is found then gets a place.
//
// It is pure, and knows neither nodes nor the axis. All of it is called by one goroutine at a time.
package later

import "culprit/grid"

// The rate at which ways are looked at again.
const (
	Every     = 1.0 // s from one look at a way to the next at least
	Seldom    = 5.0 // s likewise, of a way that has led to something true
	AtOnce    = 32  // ways looked at in one second at most
	Few       = 4   // likewise, while the search has no CPU time
	MostAdded = 256 // nodes that one way may add later, all looks together
	remembers = 64  // foci that wait for a second look
)

// A Way is what is kept of one way of one node.
type Way struct {
	At           float64 // s; when it was walked last
	Added        int     // nodes it has added later
	looked, last float64 // s; when it was looked at again, and before that
	once         map[grid.Focus]bool
}

// Walk notes that the way is looked at again now. What is found at once has appeared since looked, what needs a second look since last: the times of
// the two looks before, in s. They are 0 where there was none: when a way is walked first, what is there may not be known yet.
func (w *Way) Walk(now float64) (looked, last float64) {
	looked, last = w.looked, w.last
	w.At, w.looked, w.last = now, now, w.looked
	return looked, last
}

// Overdue is how long ago the way was walked, in units of the time from one look to the next; it is due from 1 on.
func (w *Way) Overdue(now float64, led bool) float64 {
	if led {
		return (now - w.At + 1e-9) / Seldom
	}
	return (now - w.At + 1e-9) / Every
}

// Steady takes the foci of one look, heaviest first, and tells which of them were there at the look before: what comes and goes within a
// second is not worth a test.
func (w *Way) Steady(foci []grid.Focus) map[grid.Focus]bool {
	steady, once := map[grid.Focus]bool{}, map[grid.Focus]bool{}
	for _, f := range foci {
		if w.once[f] {
			steady[f] = true
		}
		if len(once) < remembers {
			once[f] = true
		}
	}
	w.once = once
	return steady
}
