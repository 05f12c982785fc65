// Package beat says when a search may change what is measured: each change stops the target for a moment.
//
// It is pure. Times are session times, in s.
package beat

import "math"

const (
	// Short is the time between two batches of prices and of pairs to be enabled until Early, in which most of the tests of a session are begun.
	Short = 0.3
	Early = 5.0
	// Long is that time later: the target is to notice little of a search that goes on for hours.
	Long = 1.0
)

// A Beat knows when batches were begun, and when one had something to do.
type Beat struct{ begun, acted float64 }

// New has the first batch begin at once.
func New() Beat { return Beat{math.Inf(-1), math.Inf(-1)} }

// Begin tells whether it is time for a batch, and takes it for begun. What has just been found out (grew) does not wait for a batch that had nothing
// to do.
func (b *Beat) Begin(now float64, grew bool) bool {
	between := Short
	if !IsEarly(now) {
		between = Long
	}
	between -= 1e-9
	if now-b.begun < between && (!grew || now-b.acted < between) {
		return false
	}
	b.begun = now
	return true
}

// Acted notes that something was done.
func (b *Beat) Acted(now float64) { b.acted = now }

// IsEarly tells that a change need not wait for a batch.
func IsEarly(now float64) bool { return now < Early }
