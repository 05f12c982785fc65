package patch

import (
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/trampoline"
	"culprit/trampoline/planner"
)

// way is how control gets into the site's base trampoline at a room.
func (s *Site) way(b *trampoline.Base, r segment.Room) planner.Way {
	if s.stubs == nil {
		return b.Way(r.Addr)
	}
	return s.stubs.Way()
}

// Reach sees to it that the jumps of a site have where to lead. Those of a punned one lead to few places, and in rare layouts of memory all of them
// are taken: else they are the site's from now on.
func (t *Text) Reach(s *Site) error {
	sp := t.Island(s.Addr)
	if sp == nil {
		return &process.Refused{Reason: "no room for trampolines within 2 GiB of it"}
	}
	return s.takeStubs(sp)
}

// MayReach is Reach without taking places.
func (t *Text) MayReach(s *Site) error {
	sp := t.seg.Space(s.Addr)
	switch {
	case sp == nil:
		return &process.Refused{Reason: "no room for trampolines within 2 GiB of it"}
	case s.stubs == nil && s.Tactic == planner.Punned && !sp.HasStubs(s.Site):
		return noStubs(s)
	}
	return nil
}

func noStubs(s *Site) error {
	return &process.Refused{Point: At(s.Addr), Reason: "no trampoline memory where its jump can lead to"}
}

// takeStubs finds places for the stubs of a punned site, once.
func (s *Site) takeStubs(sp *segment.CodeSpace) error {
	if s.stubs != nil || s.Tactic != planner.Punned {
		return nil
	}
	found, ok := sp.TakeStubs(s.Site)
	if !ok {
		return noStubs(s)
	}
	s.stubs = found
	return nil
}

// aim makes the stubs of a site lead to its base trampoline at a room.
func (t *Text) aim(s *Site, b *trampoline.Base, r segment.Room) {
	if s.stubs == nil {
		return
	}
	w := b.Way(r.Addr)
	if call := s.Host.Call(); call != 0 {
		w.Host = call
	}
	t.seg.Aim(s.stubs, w)
}

// outOfStub puts a thread that is in a stub of a punned site back to the instruction that it was about to do.
func (s *Site) outOfStub(pc uint64) (orig uint64, ok bool) {
	if s.stubs == nil {
		return 0, false
	}
	own, successor := s.stubs.Hold(pc)
	switch {
	case own:
		return s.Addr, true
	case successor && s.Host.Call() != 0:
		return s.Host.Call(), true // its return address is on the stack
	case successor:
		return s.Host.Addr, true
	}
	return 0, false
}
