// Package beat says when a search may change what is measured: each change stops the target for a moment.
//
// It is pure. Times are session times, in s.
package beat

import "math"

const (
	// Short is the time between two batches of prices and of pairs to be enabled in the first seconds, Early, in which most tests are begun.
	Short = 0.3
	Early = 5.0
	// Long is that time later, at least: the target is to notice little of a search that goes on for hours.
	Long = 1.0
	// Longest is that time at most, also where a batch has paused the target for longer than its share.
	Longest = 4.0
	// Share is the part of that time for which batches may pause the target: half of the 0.2 % that a target may be paused in all. The rest is for
	// stops that are no batch: threads and libraries that come, and the detach.
	Share = 0.001
)

// A Beat knows when batches were begun, the first one and the last, when one had something to do, and for how long the target had been paused in all
// before the last one.
type Beat struct{ first, begun, acted, paused float64 }

// New has the first batch begin at once.
func New() Beat { return Beat{first: math.Inf(1), begun: math.Inf(-1), acted: math.Inf(-1)} }

// Begin tells whether it is time for a batch, and takes it for begun. paused is for how long the target was paused in all, in s. What has just been
// found out (grew) does not wait for a batch that had nothing to do.
func (b *Beat) Begin(now, paused float64, grew bool) bool {
	between := Short
	if !b.IsEarly(now) {
		between = min(max(Long, (paused-b.paused)/Share), Longest)
	}
	between -= 1e-9
	if now-b.begun < between && (!grew || now-b.acted < between) {
		return false
	}
	b.first, b.begun, b.paused = min(b.first, now), now, paused
	return true
}

// Acted notes that something was done.
func (b *Beat) Acted(now float64) { b.acted = now }

// IsEarly tells that a change need not wait for a batch. The time of the attach, which may be long, does not count.
func (b *Beat) IsEarly(now float64) bool { return now-b.first < Early }

const (
	// First is how long an answer is not watched, at first, where CPUs are busy, and Most at most; where there is no CPU time for it, always.
	First = 20.0
	Most  = 60.0
	// Whole is that time of an answer about the whole program: what begins is to be noticed within 20 s.
	Whole = 12.0
)

// A Recheck is the rhythm in which answers that are not watched are watched again.
type Recheck struct {
	Interval float64 // for which an answer is not watched
	Since    float64 // what was concluded later is a change; +Inf until something is not watched
	wished   bool
}

// between is how long it is from one time that was wished to the one before at least, in s.
const between = 5.0

// Wish has all be watched again as soon as may be: what is watched shows that the program behaves otherwise.
func (r *Recheck) Wish() { r.wished = true }

// Due tells that this was wished, and that the last time is long enough ago.
func (r *Recheck) Due(now float64) bool { return r.wished && !(now-r.Since < between) }

// NewRecheck is the rhythm at first.
func NewRecheck() Recheck { return Recheck{Interval: First, Since: math.Inf(1)} }

// After is for how long an answer is not watched; whole says that it is about the whole program.
func (r *Recheck) After(whole bool) float64 {
	if whole {
		return Whole
	}
	return r.Interval
}

// Lengthen doubles the interval if no answer has changed since it was set, and begins a new one.
func (r *Recheck) Lengthen(changed bool, now float64) {
	if r.Interval = min(2*r.Interval, Most); changed {
		r.Interval = First
	}
	r.Since, r.wished = now, false
}
