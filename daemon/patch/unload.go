package patch

import (
	"bytes"
	"maps"
	"slices"

	"culprit/daemon/process"
)

// Code that goes away. A library that the process unloads takes our jumps with it; nothing may be written to what is mapped at
// its addresses afterwards. Each batch therefore compares, while the process stands still, what is mapped and what bytes are
// there with what it expects; here what is known of a library is forgotten.

// TakeBack puts the old bytes where a module was that is not mapped any more, if our jumps are there all the same: the program has
// copied its code, and moved the copy to the place of the original. It tells at how many sites that is so. What cannot be put back stays in the ledger.
func (t *Text) TakeBack(m Module) (places int, err error) {
	var held []*Site
	for addr, s := range t.sites {
		if m.Holds(addr) && s.holds(t.Proc.ReadMem, ourBytes) {
			s.stuck = true
			held = append(held, s)
		}
	}
	if len(held) == 0 {
		return 0, nil
	}
	return len(held), process.Patiently(func() error { return t.Host.Stop(func(w *process.World) error { return t.putBack(w, held) }) })
}

// Forget drops the sites of a module that is gone, and returns whose code was wanted there. Children that were forked while it was there may still
// run in its trampolines, which therefore stay.
func (t *Text) Forget(m Module) []Owner {
	losers := map[Owner]bool{}
	for addr, s := range t.sites {
		if m.Holds(addr) {
			s.gone = true
			t.unpatched(s)
			delete(t.sites, addr)
			for _, g := range s.groups {
				losers[g.owner] = true
			}
		}
	}
	return slices.Collect(maps.Keys(losers))
}

// ourBytes are what was written at a piece, fileBytes what was there before.
func ourBytes(p *Piece) []byte  { return p.New }
func fileBytes(p *Piece) []byte { return p.Old }

// holds reports whether one of the pieces of a patched site is as it was written, or as it was before.
func (s *Site) holds(read func(process.Addr, []byte) error, want func(*Piece) []byte) bool {
	return slices.ContainsFunc(s.pieces, func(p Piece) bool {
		now := make([]byte, len(want(&p)))
		return read(process.Addr(p.Addr), now) == nil && bytes.Equal(now, want(&p))
	})
}

// putBack gives sites their old bytes wherever ours are, whatever is mapped there.
func (t *Text) putBack(w *process.World, sites []*Site) error {
	var spans []Span
	for i, s := range sites {
		if lo, hi, ok := s.Landing(); ok {
			spans = append(spans, Span{lo - 1, hi, i})
		}
	}
	switch inside, err := t.Host.Standing(w, spans); {
	case err != nil:
		return err
	case len(inside) > 0:
		return ErrInside
	}
	for _, s := range sites {
		for i := len(s.pieces) - 1; i >= 0; i-- { // the way in first, then what it led to
			if err := s.pieces[i].putBack(w); err != nil {
				return err
			}
		}
		s.stuck = false
	}
	return faultTaken.Hit(t.Proc.PID())
}

// putBack writes the old bytes of a piece if ours are there.
func (p *Piece) putBack(w *process.World) error {
	now := make([]byte, len(p.New))
	if w.ReadMem(process.Addr(p.Addr), now) != nil || !bytes.Equal(now, p.New) {
		return nil
	}
	return w.WriteText(process.Addr(p.Addr), p.Old)
}

// unpatched forgets what was written at a site: its bytes are gone, or those of the file are back. Bytes that are there all the same
// stay in the ledger.
func (t *Text) unpatched(s *Site) {
	if s.base == nil {
		return
	}
	for _, p := range s.pieces {
		if !s.stuck {
			t.seg.Ledger.Free(p.ledger)
		}
	}
	t.retire(s)
	s.base, s.pieces = nil, nil
	t.Count.Removed.Add(1)
}

// inPlace checks in the stopped target that the objects whose text is to be changed are mapped where they were found, and that nobody else sees
// what is written there.
func (t *Text) inPlace(w *process.World, pages []*PageEdit) error {
	seen := map[Module]bool{}
	for _, pg := range pages {
		m := t.Host.ModuleAt(pg.addr)
		if m == nil {
			return ErrMoved
		}
		if !m.Resident() {
			seen[m] = true
		}
	}
	if err := t.keepOut(pages); err != nil {
		return err
	}
	if len(seen) == 0 {
		return nil
	}
	mapped, err := t.Host.Mapped(w, slices.Collect(maps.Keys(seen)))
	if err == nil && !mapped {
		err = ErrMoved
	}
	return err
}

// whyShared is why nothing is written into a page.
const whyShared = "its code is mapped MAP_SHARED: what is written there would come into the file, and to every program that maps it"

// keepOut refuses to change pages that others see, in the stopped target.
func (t *Text) keepOut(pages []*PageEdit) error {
	addrs := make([]process.Addr, len(pages))
	for i, pg := range pages {
		addrs[i] = process.Addr(pg.addr)
	}
	shared, err := t.Proc.SharedOf(addrs)
	for _, pg := range pages {
		if slices.Contains(shared, process.Addr(pg.addr)) {
			return &SiteError{pg.Pieces[0].site, &process.Refused{Point: At(pg.addr), Reason: whyShared}}
		}
	}
	return err
}

// leaveShared notes the sites of a batch in pages that others see as busy: the rest need not wait for them. What was written before there is gone,
// and such sites come back with the bytes of the file.
func (t *Text) leaveShared(sites []*Site, busy map[*Site]error) {
	var addrs []process.Addr
	for _, s := range sites {
		if s.base == nil && !s.Empty() {
			addrs = append(addrs, process.Addr(s.Addr))
		}
	}
	shared, _ := t.Proc.SharedOf(addrs) // asked again in the stop
	for _, s := range sites {
		if s.base == nil && busy[s] == nil && slices.Contains(shared, process.Addr(s.Addr)) {
			busy[s] = &process.Refused{Point: At(s.Addr), Reason: whyShared}
		}
	}
}

// Fallen are the sites that hold the bytes of their file again, and are to be patched again: what the process has loaded again.
func (t *Text) Fallen() []*Site {
	t.LookForFallen(t.Patched())
	sites := t.fallen
	t.fallen = nil
	return Distinct(sites)
}

// LookForFallen finds those on the pages of some sites, and tells their owners.
func (t *Text) LookForFallen(some []*Site) { t.fallen = append(t.fallen, t.reloaded(some)...) }

// Distinct gives each of the sites once.
func Distinct(sites []*Site) (out []*Site) {
	seen := map[*Site]bool{}
	for _, s := range sites {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// reloaded finds patched sites, on the pages of some, that hold the bytes of the file: their library was unloaded and loaded again at the same place, or the program has
// dropped its own copy of the page, or mapped the file over it. They are to be patched again. One site of each page is looked at: all that is written for
// a site lies in one.
func (t *Text) reloaded(some []*Site) (sites []*Site) {
	losers := map[Owner]Module{}
	for page, s := range t.onePerPage(some) {
		if !s.holds(t.Proc.ReadMem, fileBytes) {
			continue
		}
		delete(t.own, page)
		for _, s := range t.Patched() {
			if s.page() == page && !s.holds(t.Proc.ReadMem, ourBytes) {
				t.unpatched(s)
				sites = append(sites, s)
				for _, g := range s.groups {
					losers[g.owner] = t.Host.ModuleAt(s.Addr)
				}
			}
		}
	}
	for o, m := range losers {
		t.Host.Unloaded(o, m)
	}
	return sites
}

// page is where all that is written for a patched site lies.
func (s *Site) page() uint64 { return s.pieces[0].Addr &^ pageMask }

// onePerPage is one of some sites that are patched, and mapped, for each page.
func (t *Text) onePerPage(some []*Site) map[uint64]*Site {
	pages := map[uint64]*Site{}
	for _, s := range some {
		if s.base != nil && t.Host.ModuleAt(s.Addr) != nil {
			pages[s.page()] = s
		}
	}
	return pages
}
