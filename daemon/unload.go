package daemon

import (
	"bytes"
	"strings"

	"culprit/daemon/process"
)

// Code that goes away. A library that the target unloads takes our jumps with it; nothing may be written to what is mapped at
// its addresses afterwards. Each batch therefore compares, while the target stands still, what is mapped and what bytes are
// there with what it expects; here what is known of a library is forgotten.

// unloadObjects forgets the objects that are not mapped any more, or not at their place.
func (t *target) unloadObjects(maps []process.Mapping) {
	kept := t.objects[:0:0]
	for _, o := range t.objects {
		if o.mappedIn(maps) {
			kept = append(kept, o)
			continue
		}
		before := t.d.removed
		t.forget(o)
		t.d.images.leave(o)
		t.d.logf("%s has unloaded %s, and %d places with probes went with it: what they counted ends here", t.name, o.name, t.d.removed-before)
	}
	t.objects = kept
	if t.threads != nil {
		t.threads.objects.endUnmapped(maps)
	}
}

// mappedIn reports whether the object's text is where it was found.
func (o *object) mappedIn(maps []process.Mapping) bool {
	for _, m := range maps {
		if uint64(m.Start) == o.text {
			return m.Executable() && m.Inode == o.key.inode && m.Dev == o.key.dev
		}
	}
	return false
}

// forget drops the functions and sites of an object that is gone. Children that were forked while it was there may still run
// in its trampolines, which therefore stay.
func (t *target) forget(o *object) {
	for id, f := range t.funcs {
		if f.obj == o {
			delete(t.funcs, id)
		}
	}
	for addr, s := range t.sites {
		if addr >= o.lo && addr < o.hi {
			s.gone = true
			s.unpatched()
			delete(t.sites, addr)
		}
	}
	t.changes++
}

// unpatched forgets what was written at a site: its bytes are gone, or those of the file are back.
func (s *site) unpatched() {
	if s.base == nil {
		return
	}
	for _, p := range s.pieces {
		s.t.seg.ledger.Free(p.ledger)
	}
	s.t.retire(s)
	s.base, s.pieces = nil, nil
	s.t.d.removed++
}

// resident reports whether an object cannot be unloaded while the target runs: the program itself, the C library and what loads libraries.
func (t *target) resident(o *object) bool {
	return o != nil && (o.path == t.exe || isLibc(o.name) || isLoader(o.name))
}

// isLoader reports whether an object is glibc's dynamic loader, which the kernel has mapped (other C libraries load by themselves).
func isLoader(name string) bool {
	return strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-2.")
}

// inPlace checks in the stopped target that the objects whose text is to be changed are mapped where they were found.
func (t *target) inPlace(w *process.World, pages []*pageEdit) error {
	seen := map[*object]bool{}
	for _, pg := range pages {
		if o := t.objectAt(pg.addr); !t.resident(o) {
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
	for o := range seen {
		if o == nil || !o.mappedIn(maps) {
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
	probe := map[*object]*site{}
	for _, s := range t.sites {
		if s.base != nil {
			if o := t.objectAt(s.Addr); !t.resident(o) {
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
		for _, s := range t.sites {
			if s.Addr >= o.lo && s.Addr < o.hi && s.base != nil {
				s.unpatched()
				sites = append(sites, s)
			}
		}
	}
	return sites
}
