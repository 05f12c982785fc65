package budget

import "math"

// While CPUs are busy, what the search itself uses is taken from the program. What promises an answer is tested at once all
// the same; the rest as far as the allowance of CPU time goes.

// ahead is how many s of CPU time the search may overdraw for what stack samples say nothing about.
const ahead = 0.5

// SetAllowance says how many s of CPU time the search may use now: below 0 if it has used too many, +Inf if CPUs are idle.
func (b *Budget) SetAllowance(s float64) { b.allowance = s }

// Busy tells that CPUs are busy: else CPU time has no limit.
func (b *Budget) Busy() bool { return !math.IsInf(b.allowance, 1) }

// HasTime tells that there is CPU time to spare.
func (b *Budget) HasTime() bool { return b.allowance > 0 }

// Overdrawn tells that more CPU time was used than allowed.
func (b *Budget) Overdrawn() bool { return b.allowance < 0 }

// Postpones tells that there is no CPU time for a candidate of little promise; unlikely tells that stack samples speak
// against it.
func (b *Budget) Postpones(unlikely bool) bool {
	if unlikely {
		return b.allowance <= 0
	}
	return b.allowance <= -ahead
}
