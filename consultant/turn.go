package consultant

import (
	"math"
	"time"

	"culprit/consultant/beat"
)

// When it is time for a turn. Where CPUs are busy, what the search itself uses is taken from the program: then it rests until
// there is something new.

// A turn says when things were done last, in s, and what has come since.
type turn struct {
	taken       uint64    // values that were there when nodes were last looked through
	lookedAt    float64   // when that was
	tickedAt    float64   // when the last tick began
	userActed   bool      // the user has changed something since
	beat        beat.Beat // only tick uses it
	sampledAt   float64   // when shares of stack samples were read
	suspectedAt float64   // when false nodes were compared with them

	toldAt        float64 // when it was noted what is told
	lookedAgainAt float64 // when ways were walked again for what appears later
}

func newTurn() turn {
	never := math.Inf(-1)
	return turn{tickedAt: never, beat: beat.New(), sampledAt: never, suspectedAt: never, toldAt: never, lookedAgainAt: never}
}

const (
	restTime = 0.6                    // s from one turn to the next while no CPU time may be used and there is no new value
	restTick = 200 * time.Millisecond // how often the search then looks whether it is time for a turn: when the daemon wakes up
	newTime  = 0.4                    // s after a change in which the search does not rest: what is new may cost too much
)

// pause is how long to wait until it may be time for a turn.
func (s *Search) pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.budget.HasTime() || s.budget.ChangedSince(s.cfg.now()-newTime) {
		return tickTime
	}
	return s.cfg.World.Beat(restTick)
}

// isDue tells that it is time for a turn.
func (s *Search) isDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.now()
	return s.budget.HasTime() || s.userActed || s.cells.Taken() != s.taken || s.budget.ChangedSince(now-newTime) || now-s.tickedAt >= restTime
}

// askForTime finds out how much CPU time there is. It takes the lock itself.
func (s *Search) askForTime() {
	spare := s.cfg.World.Spare()
	s.mu.Lock()
	s.budget.SetAllowance(spare)
	s.mu.Unlock()
}

// canExpand tells that a node has a way to walk, and that there is CPU time for it: a way through all that false children call is
// long.
func (s *Search) canExpand(n *node) bool {
	return len(n.asked) > 0 && (!n.asked[0].through || n.byHand || s.budget.HasTime())
}
