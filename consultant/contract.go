package consultant

import (
	"time"

	"culprit/consultant/experiments"
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

// A Phase is an interval of the session for which conclusions are drawn. End is 0 while it goes on.
type Phase struct {
	Name       string
	Start, End float64 // s since session start
	Because    string  // what changed when it began; "" if somebody began it
}

// IsWhole tells that this is the phase that lasts as long as the session.
func (p Phase) IsWhole() bool { return p.Name == "" || p.Name == globalPhase }

// A Node is a copy of one node of the search history graph.
type Node struct {
	ID             int
	Parents        []int
	Axis           string // "why", "where" or "when": what the refinement that led here changed
	Hypothesis     string
	Focus          grid.Focus
	Phase          Phase
	State          State
	Value          float64
	Threshold      float64
	Greater, Share bool // it holds above the threshold; it is a part of a whole, beyond 1 only as far as the measurement errs
	Unit           string
	Confidence     float64 // 0..1
	Samples        int
	Since          float64 // s since session start; when the value first held
	Cost           float64 // predicted fraction of the target's active time
	Tier           grid.Tier
	Reason         string
	Refused        string   // why no probe may be inserted there; "" if that is not so, or not known
	History        []Sample // value over time, at most 1,000
	Pinned         bool
	Error          float64            // standard error of Value; NaN if it is not known
	Tests          []experiments.Test // when it was measured, the oldest first; the latest ones if there were many
}

// A Sample is one judged value of a node.
type Sample = history.Sample

// A Bottleneck is a deepest true node with what a user reads of it.
type Bottleneck struct {
	Node     int
	Phase    Phase
	Sentence string
	Chain    []int
	Severity float64 // what is at stake: the share of the program's active time that would be gained at most if it were mended, 0..1
	Own      float64 // of the value of the node, what the function has itself, where one that it calls is told as well; 0 else
	Kind     string  // "cpu", "ready", "sync" or "io": what the threads do there; ready is to wait for a CPU
	Note     bool    // no bottleneck, but worth knowing: less is at stake than Config.LeastStake, or it is Explained
	// Why is the hypothesis that says why it holds, that of the node itself if none says more.
	Why string
	// Holders are who had the lock that is waited for, who ended the waits, who computes there, or which other programs use the CPUs.
	Holders []grid.Holder
	// Explained is the node of another finding that the threads here wait for, 0 if there is none.
	Explained int
	File      string // source of the function, "" if unknown
	Line      int
	Object    string // lock or file where there is one
}

// An Event is something the search did; for progress lines and the log.
type Event struct {
	At   float64 // s since session start
	Node int     // 0 if none
	Text string
}

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
	// Stood is how many s each target was paused so far, on average, because of what was inserted and removed.
	Stood() float64
}
