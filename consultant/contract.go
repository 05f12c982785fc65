package consultant

import (
	"time"

	"culprit/consultant/answers"
	"culprit/consultant/history"
	"culprit/consultant/lifecycle"
	"culprit/consultant/prior"
	"culprit/grid"
	"culprit/pcl"
)

// A State is the state of a node of the search history graph.
type State = lifecycle.State

// The states of search.md.
const (
	Never      = lifecycle.Never
	Queued     = lifecycle.Queued
	Testing    = lifecycle.Testing
	True       = lifecycle.True
	False      = lifecycle.False
	Deferred   = lifecycle.Deferred
	Refused    = lifecycle.Refused
	Pruned     = lifecycle.Pruned
	OverBudget = lifecycle.OverBudget
)

// What a search tells.
type (
	Phase      = answers.Phase
	Cycle      = answers.Cycle
	Node       = answers.Node
	Sample     = history.Sample
	Bottleneck = answers.Bottleneck
	Event      = answers.Event
)

// Config is what a search needs. Everything it knows of the target comes through it.
type Config struct {
	Hypotheses []*pcl.Hypothesis
	Grid       *grid.Grid
	World      World
	Budget     float64       // fraction of the target's active time, 0.02 by default
	MinObserve time.Duration // 0.5 s by default
	OnEvent    func(Event)   // nil = dropped
	// LeastStake is what must be at stake for a finding to be a bottleneck and not a note, 0..1; nil = 0. It is called with the lock of the search held, too.
	LeastStake func() float64
	// Prior is what an earlier run has found out; nil if there was none.
	Prior *prior.Prior
	// Base is the fixed hierarchy to which the parts of the item that a focus selects belong; nil = Code.
	Base func(item grid.Focus) grid.Hierarchy
}

// A World is what a search has to know besides the values in the grid. The search calls Source, Holders, Unseen and Now from any goroutine, and the others from
// that of Run. Now and Unseen are called with the lock of the search held: they answer at once and do not call the search.
type World interface {
	grid.Axis
	// Now is the time, in s since the session began.
	Now() float64
	// Source is where a function is defined; file is "" if that is not known.
	Source(f grid.Focus) (file string, line int)
	// Holders says who had the lock that a focus chooses while others waited for it, who ended the waits there, and who computes there.
	Holders(f grid.Focus) []grid.Holder
	// Unseen says what of a metric cannot be seen in the program, "" if nothing. Where a hypothesis about it does not hold, that is not known then.
	Unseen(metric string) string
	// Spare is how many s of CPU time the search may use now, so that it takes no more than it should: below 0 if it has used too many, +Inf if CPUs are idle.
	Spare() float64
	// Halted tells that the whole program does nothing now, since a signal has stopped it or its control group is frozen.
	Halted() bool
	// Stood is how many s each target was paused so far, on average, because of what was inserted and removed.
	Stood() float64
}
