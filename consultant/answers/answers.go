// Package answers has what a search tells: its nodes, phases, bottlenecks and events. All of it is copies; nothing here is guarded.
package answers

import (
	"culprit/consultant/experiments"
	"culprit/consultant/history"
	"culprit/consultant/lifecycle"
	"culprit/grid"
)

// Global is the name of the phase that lasts as long as the session.
const Global = "global"

// A Phase is an interval of the session for which conclusions are drawn. End is 0 while it goes on.
type Phase struct {
	Name       string
	Start, End float64 // s since session start
	Because    string  // what changed when it began; "" if somebody began it
}

// IsWhole tells that this is the phase that lasts as long as the session.
func (p Phase) IsWhole() bool { return p.Name == "" || p.Name == Global }

// A Cycle is what the program does again and again. The zero value is none.
type Cycle struct {
	Seconds  float64 // how long one takes
	From, To float64 // s since session start; when it was seen first and last
	What     string  // what changes most in it: between which values
}

// After is the cycle that was seen after another one, or went on from it.
func (c Cycle) After(before Cycle) Cycle {
	if before.Seconds > 0 && before.To >= c.From {
		c.From = min(c.From, before.From)
	}
	return c
}

// A Node is a copy of one node of the search history graph.
type Node struct {
	ID             int
	Parents        []int
	Axis           string // "why", "where" or "when": what the refinement that led here changed
	Hypothesis     string
	Focus          grid.Focus
	Phase          Phase
	State          lifecycle.State
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
	Refused        string           // why no probe may be inserted there; "" if that is not so, or not known
	History        []history.Sample // value over time, at most 1,000
	Pinned         bool
	Error          float64            // standard error of Value; NaN if it is not known
	Tests          []experiments.Test // when it was measured, the oldest first; the latest ones if there were many
}

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
