package consultant

import "math"

// Where processors are busy, what the search itself takes is taken from the program. What promises an answer is tested at once all the
// same; the rest as far as there is time for it.

// ahead is how many processor seconds the search may run ahead of its share for what stack samples say nothing about.
const ahead = 1.0

// askForTime finds out how much time there is. It takes the lock itself.
func (s *Search) askForTime() {
	spare := math.Inf(1)
	if s.cfg.Spare != nil {
		spare = s.cfg.Spare()
	}
	s.mu.Lock()
	s.spare = spare
	s.mu.Unlock()
}

// waitsForTime tells that a candidate is not started now since there is no time for it. A hypothesis at a place that is known to be of
// interest, what stack samples promise, and what the user asks for, never wait.
func (s *Search) waitsForTime(n *node) bool {
	switch {
	case n.byHand, n.pinned, n.axis == "why", n.hot, n.state != Queued:
		return false
	case n.cool:
		return s.spare <= 0
	}
	return s.spare <= -ahead
}

// wantTime notes that a candidate waits for time.
func (n *node) wantTime(now float64) {
	if n.timeTry == 0 {
		n.timeTry = now
	}
	n.reason = "waits: processors are busy, and the search has used its share of them"
}

// walks tells that a node has a way to walk, and that there is time for it: one through all that false children call is long.
func (s *Search) walks(n *node) bool {
	return len(n.asked) > 0 && (!n.asked[0].through || n.byHand || s.spare > 0)
}
