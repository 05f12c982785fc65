// Package admission decides which of the tests that wait are begun: they ask the budget, in their order.
//
// It is pure.
package admission

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"culprit/consultant/budget"
	"culprit/consultant/explain"
)

const (
	// Most is how many pairs are enabled at once, so that the stop stays short.
	Most = 64
	// StarvedAfter is for how long a test waits for budget until stack samples are asked, in s.
	StarvedAfter = 3.0
	// ReservedAfter is for how long a test waits for budget until the room that it needs is kept for it, in s.
	ReservedAfter = 5.0
	// NoTime is why tests of little promise are postponed.
	NoTime = "postponed: CPUs are busy and the search has used up its CPU allowance"
)

// A Request is what a test asks of the budget. N names it.
type Request[N comparable] struct {
	Test      N
	Pairs     int    // that it needs
	Needless  string // why it is needless now, "" if it is not
	Waits     bool   // a wider one is running: its answer is waited for
	Wider     []N    // likewise, if one of these is begun just now
	Promising bool   // worth its CPU time
	Postponed string // why it is not begun yet although there may be budget, "" if it may be
	Cost      budget.Cost
	Known     bool    // the cost is known
	Err       error   // why it cannot be measured
	Shares    bool    // the shared cost is paid when it is begun
	Waited    float64 // s since its values were wanted first
	Estimable bool    // stack samples can judge it instead
}

// An Action is what becomes of a request.
type Action int

// What becomes of requests.
const (
	Begin Action = iota
	Skip
	Postpone // not begun yet, whatever the budget is
	Block    // there is no budget now
	Fail     // it cannot be measured
	Exceed   // it will never fit into the budget
	Starve   // it has waited long enough; stack samples judge it
)

// A Decision is what becomes of a request, and why if it goes on waiting.
type Decision[N comparable] struct {
	Request[N]
	Action
	Reason string
}

// A Batch is what was decided at once.
type Batch[N comparable] struct {
	Decisions []Decision[N]
	Room      budget.Room // what is left
	Blocked   int         // requests that wait for budget
	Lacking   float64     // of the limit, for the one that lacks least
}

// Choose goes over requests in their order and takes from the room what is begun. few is how many of little promise may be
// begun. A request whose cost is not known, or that waits for a wider one, gets no decision.
func Choose[N comparable](requests iter.Seq[Request[N]], room budget.Room, few int) Batch[N] {
	b := Batch[N]{Room: room, Lacking: math.Inf(1)}
	begun, pairs := map[N]bool{}, 0
	for r := range requests {
		if pairs >= Most {
			break
		}
		if r.waits(begun) {
			continue
		}
		d := Decision[N]{Request: r}
		ok, lacking := b.Room.Admit(r.Cost, 1)
		more := r.Cost.More(b.Room.Paid)
		switch {
		case r.Needless != "":
			d.Action, d.Reason = Skip, r.Needless
		case r.Postponed != "":
			d.Action, d.Reason = Postpone, r.Postponed
		case few == 0 && !r.Promising:
			d.Action, d.Reason = Postpone, NoTime
		case !r.Known:
			continue
		case r.Err != nil:
			d.Action = Fail
		case more > room.Limit:
			d.Action = Exceed
		case !ok && r.Waited > StarvedAfter && r.Estimable:
			d.Action = Starve
		case !ok || b.Room.Full(r.Pairs):
			d.Action = Block
			d.Reason = fmt.Sprintf("waits for budget: %s are used, it needs %s more of %s", explain.Percent(b.Room.Load), explain.Percent(more), explain.Percent(room.Limit))
			b.Blocked++
			b.Lacking = min(b.Lacking, lacking)
			if r.Waited >= ReservedAfter {
				b.Room.Reserve(r.Cost)
			}
		default:
			b.Room.Take(r.Cost, r.Pairs, r.Shares)
			begun[r.Test] = true
			pairs += r.Pairs
			if !r.Promising {
				few--
			}
		}
		b.Decisions = append(b.Decisions, d)
	}
	return b
}

// waits tells that a wider test is running, or is begun just now.
func (r Request[N]) waits(begun map[N]bool) bool {
	return r.Needless == "" && (r.Waits || slices.ContainsFunc(r.Wider, func(w N) bool { return begun[w] }))
}
