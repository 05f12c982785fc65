package daemon

import (
	"time"

	"culprit/daemon/measuring"
	"culprit/daemon/notes"
	"culprit/daemon/target"
)

// A hold is processes that one goroutine has locked.
type hold map[*measuring.Process]bool

// How long a hold waits, all together, for targets that somebody only asks something, and how often it tries.
const (
	patience = time.Millisecond
	tryAgain = 50 * time.Microsecond
)

// holdFree locks the targets that nobody works on. mu is held.
func (s *state) holdFree() hold {
	h, until := hold{}, time.Now().Add(patience)
	for _, t := range s.targets {
		if lockUntil(t, until) {
			h[t] = true
		}
	}
	return h
}

// lockUntil locks a target, and gives up at some time.
func lockUntil(t *measuring.Process, until time.Time) bool {
	for !t.TryLock() {
		if time.Now().After(until) {
			return false
		}
		time.Sleep(tryAgain)
	}
	return true
}

// holdAll locks all targets, and waits until nobody else uses them. enabling is held, and mu is not.
func (s *state) holdAll() hold {
	h := hold{}
	for _, t := range s.targets {
		t.Lock()
		h[t] = true
	}
	return h
}

// release unlocks them.
func (h hold) release() {
	for t := range h {
		t.Unlock()
	}
}

// holds reports whether all parts of a pair are in processes of the hold.
func (h hold) holds(parts []*measuring.Part) bool {
	for _, pt := range parts {
		if !h[pt.Process] {
			return false
		}
	}
	return true
}

// holdOf locks the targets of what is known of a pair. enabling is held.
func (s *state) holdOf(p *notes.Pair) hold {
	of := map[*target.Target]bool{}
	for _, plan := range p.Plans {
		of[plan.Target] = true
	}
	for _, t := range p.Have {
		of[t] = true
	}
	h := hold{}
	for _, t := range s.targets {
		if of[t.Target] {
			t.Lock()
			h[t] = true
		}
	}
	return h
}
