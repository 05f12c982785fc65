package session

import "time"

// The rule for a session that nobody ends by hand (no terminal, no --for): it lasts at least autoMin, until the search had
// nothing to test for autoSettled, and at most autoMax.
const (
	autoMin     = 10 * time.Second
	autoSettled = 2 * time.Second
	autoMax     = 60 * time.Second
)

// Limits say when a session ends by itself.
type Limits struct {
	For  time.Duration // 0 = no fixed length
	Auto bool          // end when the search has settled; used if For is 0
}

// An End says why a session ended.
type End string

// The ends.
const (
	EndTime        End = "time"        // For is over
	EndSettled     End = "settled"     // nothing was left to be tested, or the 60 s of Auto are over
	EndInterrupted End = "interrupted" // SIGINT, SIGTERM or the user quit
	EndTarget      End = "ended"       // all targets ended (exit, exec or killed)
)

// over judges a session of a given age whose search has been settled for a while (negative: it is not settled).
func (l Limits) over(age, settled time.Duration) (End, bool) {
	switch {
	case l.For > 0:
		return EndTime, age >= l.For
	case !l.Auto:
		return "", false
	case age >= autoMax:
		return EndSettled, true
	}
	return EndSettled, age >= autoMin && settled >= autoSettled
}
