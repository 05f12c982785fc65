package consultant

import (
	"time"
)

// When it is time for a turn. Where CPUs are busy, what the search itself uses is taken from the program: then it rests until
// there is something new.

// restTime is how long the search waits from one turn to the next, in s, while it may use no time and there is no new value.
const restTime = 0.6

// restTick is how often it is then looked whether it is time for a turn: when the daemon wakes up as well.
const restTick = 200 * time.Millisecond

// pause is how long to wait until it may be time for a turn.
func (s *Search) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.budget.HasTime() {
		return tickTime
	}
	return s.cfg.World.Beat(restTick)
}

// isDue tells that it is time for a turn.
func (s *Search) isDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.budget.HasTime() || s.stirred || s.cells.Taken() != s.taken || s.cfg.now()-s.tickedAt >= restTime
}

// askForTime finds out how much time there is. It takes the lock itself.
func (s *Search) askForTime() {
	spare := s.cfg.World.Spare()
	s.mu.Lock()
	s.budget.SetAllowance(spare)
	s.mu.Unlock()
}

// walks tells that a node has a way to walk, and that there is time for it: one through all that false children call is long.
func (s *Search) walks(n *node) bool {
	return len(n.asked) > 0 && (!n.asked[0].through || n.byHand || s.budget.HasTime())
}
