package consultant

import (
	"context"
	"math"
	"time"

	"culprit/consultant/beat"
)

// When it is time for a turn. Where CPUs are busy, what the search itself uses is taken from the program: then it rests until there is something new.

// A turn says when things were done last, in s.
type turn struct {
	lookedAt    float64   // when nodes were last looked through
	tickedAt    float64   // when the last tick began
	beat        beat.Beat // only tick uses it
	sampledAt   float64   // when shares of stack samples were read
	samplings   int       // how often that was
	suspectedAt float64   // when false nodes were compared with them

	toldAt        float64 // when it was noted what is told
	lookedAgainAt float64 // when ways were walked again for what appears later
}

func newTurn() turn {
	never := math.Inf(-1)
	return turn{tickedAt: never, beat: beat.New(), sampledAt: never, suspectedAt: never, toldAt: never, lookedAgainAt: never}
}

const (
	restTime = 600 * time.Millisecond // from one turn to the next while no CPU time may be used and there is no new value
	restTick = 200 * time.Millisecond // the least from one turn to the next then
	newTime  = 0.4                    // s after a change in which the search does not rest: what is new may cost too much
)

// rest waits until it may be time for a turn: where CPUs are busy, until whoever measures has woken up and brings values.
func (s *Search) rest(ctx context.Context) {
	if s.isResting() {
		s.alarm.Rest(ctx, restTick, restTime)
	} else {
		beat.Sleep(ctx, tickTime)
	}
}

// isResting tells that turns come only when there is something new.
func (s *Search) isResting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.budget.HasTime() && !s.budget.ChangedSince(s.cfg.now()-newTime)
}

// isDue tells that it is time for a turn.
func (s *Search) isDue() bool {
	rests := s.isResting()
	s.mu.Lock()
	defer s.mu.Unlock()
	return !rests || s.alarm.HasWish() || s.alarm.HasNews() || s.cfg.now()-s.tickedAt >= restTime.Seconds()
}

// canExpand tells that a node has a way to walk, and that there is CPU time for it: a way through all that false children call is long.
func (s *Search) canExpand(n *node) bool {
	return len(n.asked) > 0 && (!n.asked[0].through || n.ByHand || s.budget.HasTime())
}
