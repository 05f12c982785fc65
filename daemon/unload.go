package daemon

import (
	"bytes"
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/process"
	"culprit/daemon/program"
)

// Code that goes away. A library that the target unloads takes our jumps with it; nothing may be written to what is mapped at
// its addresses afterwards. Each batch therefore compares, while the target stands still, what is mapped and what bytes are
// there with what it expects; here what is known of a library is forgotten.

// takeBack puts the old bytes where an object was that is not mapped any more, if our jumps are there all the same: the program has
// copied its code, and moved the copy to the place of the original. What cannot be put back stays in the ledger.
func (t *target) takeBack(o *program.Object) {
	var held []*site
	for addr, s := range t.sites {
		if o.Holds(addr) && s.holdsOurs(t.proc.ReadMem) {
			s.stuck = true
			held = append(held, s)
		}
	}
	if len(held) == 0 {
		return
	}
	err := process.Patiently(func() error { return t.stop(func(w *process.World) error { return putBack(w, held) }) })
	if err == nil {
		t.d.logf("%s has moved the code of %s to memory of its own: %d places with probes got their old bytes there", t.name, o.Name, len(held))
	} else if !t.proc.Gone() {
		t.d.logf("%s: putting back what was there before in code that has moved: %v", t.name, err)
	}
}

// holdsOurs reports whether something of what was written at a patched site is there.
func (s *site) holdsOurs(read func(process.Addr, []byte) error) bool {
	for _, p := range s.pieces {
		now := make([]byte, len(p.new))
		if read(process.Addr(p.addr), now) == nil && bytes.Equal(now, p.new) {
			return true
		}
	}
	return false
}

// putBack gives sites their old bytes wherever ours are, whatever is mapped there.
func putBack(w *process.World, sites []*site) error {
	t := sites[0].t
	var spans []addrSpan
	for i, s := range sites {
		if lo, hi, ok := s.Landing(); ok {
			spans = append(spans, addrSpan{lo - 1, hi, i})
		}
	}
	switch inside, err := t.standing(w, spans); {
	case err != nil:
		return err
	case len(inside) > 0:
		return errInside
	}
	for _, s := range sites {
		for i := len(s.pieces) - 1; i >= 0; i-- { // the way in first, then what it led to
			if err := s.pieces[i].putBack(w); err != nil {
				return err
			}
		}
		s.stuck = false
	}
	return faultTaken.Hit(t.proc.PID())
}

// putBack writes the old bytes of a piece if ours are there.
func (p *patched) putBack(w *process.World) error {
	now := make([]byte, len(p.new))
	if w.ReadMem(process.Addr(p.addr), now) != nil || !bytes.Equal(now, p.new) {
		return nil
	}
	return w.WriteText(process.Addr(p.addr), p.old)
}

// forget drops the functions and sites of an object that is gone. Children that were forked while it was there may still run
// in its trampolines, which therefore stay.
func (t *target) forget(o *program.Object) {
	if c := t.plans[o]; c != nil {
		t.d.twins.leave(c)
		delete(t.plans, o)
	}
	for id := range t.rates {
		if o.Holds(uint64(id)) {
			delete(t.rates, id)
		}
	}
	losers := map[*part]bool{}
	for addr, s := range t.sites {
		if o.Holds(addr) {
			s.gone = true
			s.unpatched()
			delete(t.sites, addr)
			for _, g := range s.groups {
				losers[g.part] = true
			}
		}
	}
	for p := range losers {
		p.loses(o)
	}
	t.sequences = slices.DeleteFunc(t.sequences, func(r image.Range) bool { return o.Holds(r.Lo) })
}

// unpatched forgets what was written at a site: its bytes are gone, or those of the file are back. Bytes that are there all the same
// stay in the ledger.
func (s *site) unpatched() {
	if s.base == nil {
		return
	}
	for _, p := range s.pieces {
		if !s.stuck {
			s.t.seg.Ledger.Free(p.ledger)
		}
	}
	s.t.retire(s)
	s.base, s.pieces = nil, nil
	s.t.d.removed++
}

// fourthIsSpent reports whether nobody behind a system call reads its fourth argument, where the code stays for good.
func (t *target) fourthIsSpent(ret process.Addr) bool {
	o := t.ObjectAt(uint64(ret))
	return o.Resident() && o.FourthIsSpent(uint64(ret)-o.Bias)
}

// inPlace checks in the stopped target that the objects whose text is to be changed are mapped where they were found.
func (t *target) inPlace(w *process.World, pages []*pageEdit) error {
	seen := map[*program.Object]bool{}
	for _, pg := range pages {
		if o := t.ObjectAt(pg.addr); !o.Resident() {
			seen[o] = true
		}
	}
	if len(seen) == 0 {
		return nil
	}
	maps, err := w.Maps()
	if err != nil {
		return err
	}
	code := codeMaps(maps)
	for o := range seen {
		if o == nil || !o.MappedIn(code) {
			return errMoved
		}
	}
	return nil
}

// repair patches again what the target has loaded again.
func (t *target) repair() error {
	sites := append(t.fallen, t.reloaded()...)
	t.fallen = nil
	if len(sites) == 0 {
		return nil
	}
	_, err := t.apply(distinctSites(sites), nil)
	return err
}

func distinctSites(sites []*site) (out []*site) {
	seen := map[*site]bool{}
	for _, s := range sites {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// reloaded finds patched sites that hold the bytes of the file: their library was unloaded and loaded again at the same
// place. They are to be patched again. One site of each object is looked at.
func (t *target) reloaded() (sites []*site) {
	probe := map[*program.Object]*site{}
	for _, s := range t.sites {
		if s.base != nil {
			if o := t.ObjectAt(s.Addr); !o.Resident() {
				probe[o] = s
			}
		}
	}
	for o, s := range probe {
		p := s.pieces[len(s.pieces)-1]
		now := make([]byte, len(p.old))
		if o == nil || t.proc.ReadMem(process.Addr(p.addr), now) != nil || !bytes.Equal(now, p.old) {
			continue
		}
		losers := map[*part]bool{}
		for _, s := range t.sites {
			if o.Holds(s.Addr) && s.base != nil {
				s.unpatched()
				sites = append(sites, s)
				for _, g := range s.groups {
					losers[g.part] = true
				}
			}
		}
		for p := range losers {
			p.noteUnloaded(o)
		}
	}
	return sites
}
