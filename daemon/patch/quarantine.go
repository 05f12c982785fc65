package patch

import (
	"culprit/daemon/process"
	"culprit/daemon/segment"
)

// A retired trampoline is not reached any more, but a thread may still be inside it.
type retired struct {
	s    *Site
	room segment.Room
	n    int // its place in the order of retirement
}

// retire puts what is patched in at a site into quarantine.
func (t *Text) retire(s *Site) {
	t.retirements++
	t.quarantine = append(t.quarantine, retired{s, s.room, t.retirements})
}

// What may be done only when no trampoline is left to a thread that was retired by then waits for that.
type leaving struct {
	free  func()
	after int // the last retirement before
}

// WhenLeft calls free as soon as no trampoline that was retired so far has a thread inside: such as to give back what its code writes to.
func (t *Text) WhenLeft(free func()) {
	if len(t.quarantine) > 0 {
		t.leaving = append(t.leaving, leaving{free, t.retirements})
		return
	}
	free()
}

// Waits reports whether something waits for trampolines to be left. Reclaim finds out.
func (t *Text) Waits() bool { return len(t.leaving) > 0 }

// dismiss frees what waited for trampolines which are free now.
func (t *Text) dismiss() {
	kept := t.leaving[:0]
	for _, l := range t.leaving {
		waits := false
		for _, r := range t.quarantine {
			waits = waits || r.n <= l.after
		}
		if waits {
			kept = append(kept, l)
			continue
		}
		l.free()
	}
	t.leaving = kept
}

// checkPCs refuses the batch if a thread stands inside instructions whose bytes change, or at a jump nearby that is taken away:
// what its place held before leads elsewhere.
func (t *Text) checkPCs(w *process.World, changes []*change) error {
	var spans []Span
	for i, c := range changes {
		if c.s.base == nil {
			spans = append(spans, c.s.displacedSpans(i)...)
		} else if lo, hi, ok := c.s.Landing(); ok && c.base == nil {
			spans = append(spans, Span{lo - 1, hi, i})
		}
	}
	tids, err := t.Host.Standing(w, spans)
	for i, tid := range tids {
		return &BusyError{changes[i].s, tid}
	}
	return err
}

// displacedSpans are where no thread may stand when a site is patched for the first time.
func (s *Site) displacedSpans(owner int) (spans []Span) {
	if len(s.Insts) > 1 {
		spans = append(spans, Span{s.Addr, s.End(), owner})
	}
	if h := s.Host; h != nil {
		spans = append(spans, Span{h.Addr, h.End(), owner})
	}
	return spans
}

// Reclaim gives back the quarantined trampolines that no thread is in or can return into. A thread in one of an island's stubs may
// return into any of them; one in the stub of a punned site is on its way into one.
func (t *Text) Reclaim(w *process.World) {
	if !t.Host.Leaves() {
		return
	}
	if len(t.quarantine) == 0 {
		t.dismiss()
		return
	}
	const inStub = -1
	var spans []Span
	t.seg.EachStub(func(lo, hi uint64) { spans = append(spans, Span{lo - 1, hi, inStub}) })
	for i, r := range t.quarantine {
		spans = append(spans, Span{r.room.Addr - 1, r.room.Addr + uint64(r.room.Size), i})
	}
	inside, err := t.Host.Standing(w, spans)
	if err != nil {
		return // another time
	}
	if _, busy := inside[inStub]; busy {
		return
	}
	kept := t.quarantine[:0]
	for i, r := range t.quarantine {
		if _, busy := inside[i]; busy {
			kept = append(kept, r)
			continue
		}
		r.s.rooms.Give(r.room)
	}
	t.quarantine = kept
	t.dismiss()
}
