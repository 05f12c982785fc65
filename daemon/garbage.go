package daemon

import "runtime/debug"

// collectRarely has garbage collected more rarely until asBefore is called: while much is made at once that stays, or is free a moment
// later, the collector would take the processor from the work and from the targets, again and again for a few megabytes.
func collectRarely() (asBefore func()) {
	const rarely = 400
	before := debug.SetGCPercent(rarely)
	return func() { debug.SetGCPercent(before) }
}
