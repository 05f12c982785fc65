package consultant

import (
	"math"
	"time"
)

// Where processors are busy, what the search itself takes is taken from the program. What promises an answer is tested at once all the
// same; the rest as far as there is time for it.

// ahead is how many processor seconds the search may run ahead of its share for what stack samples say nothing about.
const ahead = 0.5

// fewAtOnce is how many such candidates are begun at once where processors are busy: what they take is known when it has been taken.
const fewAtOnce = 2

// restTime is how long the search waits from one turn to the next, in s, while it may use no time and there is no new value.
const restTime = 0.6

// restTick is how often it is then looked whether it is time for a turn: when the daemon wakes up as well.
const restTick = 200 * time.Millisecond

// pause is how long to wait until it may be time for a turn.
func (s *Search) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare > 0 || s.cfg.Beat == nil {
		return tickTime
	}
	return s.cfg.Beat(restTick)
}

// isDue tells that it is time for a turn.
func (s *Search) isDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spare > 0 || s.stirred || s.cells.Taken() != s.taken || s.cfg.Now()-s.tickedAt >= restTime
}

// isBusy reports whether processors are busy: where they are not, time has no limit.
func (s *Search) isBusy() bool { return !math.IsInf(s.spare, 1) }

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
	case n.isPromising():
		return false
	case n.cool:
		return s.spare <= 0
	}
	return s.spare <= -ahead
}

// isPromising tells that a candidate is worth its time, as far as that can be known.
func (n *node) isPromising() bool {
	return n.byHand || n.pinned || n.axis == "why" || n.hot || n.state != Queued
}

// wantTime notes that a candidate waits for time.
func (n *node) wantTime(now float64) {
	if n.timeTry == 0 {
		n.timeTry = now
	}
	n.reason = "postponed: CPUs are busy and the search has used up its CPU allowance"
}

// walks tells that a node has a way to walk, and that there is time for it: one through all that false children call is long.
func (s *Search) walks(n *node) bool {
	return len(n.asked) > 0 && (!n.asked[0].through || n.byHand || s.spare > 0)
}
