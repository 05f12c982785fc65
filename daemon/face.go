package daemon

import (
	"context"
	"time"

	"culprit/daemon/callees"
	"culprit/grid"
)

// What others ask a Daemon for, beside what its questions answer. Any goroutine may ask.

// Enable implements grid.Instrumenter.
func (d *Daemon) Enable(keys []grid.PairKey, sink grid.Sink) []grid.EnableResult {
	return d.inserter.Enable(keys, sink)
}

// Disable implements grid.Instrumenter: values up to now are given out, then the code is switched off without stopping anyone. It leaves the text within
// the next seconds.
func (d *Daemon) Disable(keys []grid.PairKey) { d.inserter.Disable(keys) }

// Settle takes out of the text what was switched off, now instead of within the next seconds.
func (d *Daemon) Settle() { d.inserter.Settle() }

// Price implements grid.Instrumenter: the calls of functions are counted for a while where they are not known.
func (d *Daemon) Price(keys []grid.PairKey) ([]grid.Price, []error) { return d.pricer.Price(keys) }

// Disassemble makes the trampolines of a metric at a focus without putting them in, and prices them. At most as many sites as said are listed for each process.
func (d *Daemon) Disassemble(k grid.PairKey, sites int) ([]Listing, error) {
	return d.pricer.Disassemble(k, sites)
}

// Callees watches the calls of a function for a while and tells where each goes. Direct calls are known; at the indirect ones a probe
// keeps the last callee of each thread, which is read every two milliseconds: a callee that is rare may be missed. What is found is
// known to the search from then on. Without a module the function is what $function of PCL takes the name for.
func (d *Daemon) Callees(ctx context.Context, module, function string, span time.Duration) ([]callees.Call, error) {
	return d.indirect.Callees(ctx, module, function, span)
}

// Overhead returns the costs so far.
func (d *Daemon) Overhead() grid.Overhead { return d.passes.Overhead() }

// Pauses returns how long the targets stood still in each of the last stops, oldest first; 256 at most.
func (d *Daemon) Pauses() []time.Duration { return d.session.Pauses.Last() }

// Stood is how many seconds each target stood still since the attach, on average.
func (d *Daemon) Stood() float64 { return d.passes.Stood() }

// ObservedCost implements grid.Instrumenter.
func (d *Daemon) ObservedCost() float64 { return d.passes.observed.Lately() }

// UnmeasuredChildren is how much processor time went to processes that the targets have started and that ended before they could be measured, and what share
// that is of all that the program has used since the attach; 0 if it is next to nothing.
func (d *Daemon) UnmeasuredChildren() (used time.Duration, share float64) {
	return d.times.UnmeasuredChildren()
}
