package patch

import (
	"fmt"
	"time"

	"culprit/daemon/segment"
	"culprit/trampoline"
)

// What probes cost the target's own memory, whatever its layout is. A page of text that is patched becomes the target's own copy, which its
// control group pays for, and trampolines and counters are paid for by whoever touches them first. Where the group has no more, the kernel
// kills the target: so each batch is held against what is left before anything of it is made.

// usualRoom is what the trampoline of a site takes, about: two probes with a timer.
const usualRoom = 512

// lookAfter is how long a look at the limits is good for.
const lookAfter = time.Second

// A purse is what the target's memory limits left when they were last looked at, and what was taken since.
type purse struct {
	looked time.Time
	left   uint64
	limit  string // the file that says so
	taken  uint64
}

// stale tells that the limits must be looked at: a look is good for a moment, and for a part of what it has shown.
func (p *purse) stale(now time.Time, need uint64) bool {
	const part = 8
	return p.looked.IsZero() || now.Sub(p.looked) > lookAfter || p.taken+need > p.left/part
}

// allows refuses what the target cannot pay. As much again and leastMemory stay for its own growth, and for page tables.
func (p *purse) allows(need uint64) error {
	left := p.left - min(p.left, p.taken)
	if need == 0 || left > segment.LeastMemory && need <= (left-segment.LeastMemory)/2 {
		return nil
	}
	return fmt.Errorf("the probes would take %d KiB of the program's memory, of which its control group has %d KiB left (%s), and as much again and %d KiB must stay free: choose fewer functions or modules at once, or raise the limit",
		(need+1023)>>10, left>>10, p.limit, segment.LeastMemory>>10)
}

// mayTake looks at the limits if the last look does not tell enough: that reads several files.
func (t *Text) mayTake(need uint64) error {
	if now := time.Now(); need > 0 && t.purse.stale(now, need) {
		h, err := t.Proc.Headroom()
		if err != nil {
			return err
		}
		t.purse = purse{looked: now, left: h.Memory, limit: h.MemoryLimit}
	}
	if err := t.purse.allows(need); err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	return nil
}

// pay is mayTake for what is made now: it is taken from what is left.
func (t *Text) pay(need uint64) error {
	err := t.mayTake(need)
	if err == nil {
		t.purse.taken += need
	}
	return err
}

// costOf is how much of the process's memory a batch takes, in bytes. To take code out costs nothing.
func (t *Text) costOf(sites []*Site, a Along, last bool) uint64 {
	copies, rooms := map[uint64]bool{}, uint64(0)
	for _, s := range sites {
		if s.gone || s.Empty() || s.base != nil && !a.Grows() {
			continue
		}
		if !s.rooms.Has() {
			rooms += usualRoom
		}
		if s.base == nil {
			t.willOwn(s, copies)
		}
	}
	return uint64(len(copies))*trampoline.PageSize + rooms + a.Cost(last)
}

// willOwn adds the pages of text that patching the site makes the process's own.
func (t *Text) willOwn(s *Site, pages map[uint64]bool) {
	at := []uint64{s.Addr}
	if lo, _, two := s.Landing(); two {
		at = append(at, lo)
	}
	for _, a := range at {
		if page := a &^ pageMask; !t.own[page] {
			pages[page] = true
		}
	}
}
