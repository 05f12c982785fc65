package unwind

import (
	"slices"

	"culprit/daemon/image/elffile"
)

// PadAddresses gives the addresses at which exceptions continue in the code of f, from its language-specific data: an optional
// base, an optional type table, then the call-site table (GCC's unwind-c.c, parse_lsda_header). ok is false if the data cannot
// be read, so that pads may be missing.
func (t *Table) PadAddresses(f *FDE) (pads []uint64, ok bool) {
	sites, ok := t.LandingPads(f)
	for _, s := range sites {
		pads = append(pads, s.Pad)
	}
	return pads, ok
}

// A PadSite says that an exception out of a call in [lo, hi) continues at pad.
type LandingPad struct {
	Lo, Hi, Pad uint64
	handles     bool // it may end there, and does not only pass
}

// PadAddresses reads the call-site table of f.
func (t *Table) LandingPads(f *FDE) (sites []LandingPad, ok bool) {
	if f.lsdaLost {
		return nil, false
	}
	if f.lsda == 0 {
		return nil, true
	}
	s := t.file.SectionAt(f.lsda)
	if s == nil {
		return nil, false
	}
	r := &elffile.Reader{Rest: s.Slice(f.lsda, s.End()-f.lsda), Addr: f.lsda}
	base := f.Lo
	if enc := r.Byte(); enc != peOmit {
		if base, ok = pointer(r, enc); !ok {
			return nil, false
		}
	}
	if enc := r.Byte(); enc != peOmit {
		r.ULEB()
	}
	if t.padsRead.Load() > maxPads {
		t.file.LeftOut("functions of %s with exceptions are not measured: it claims more than %d landing pads", t.file.Name(), maxPads)
		return nil, false
	}
	sites, ok = callSites(r, f.Lo, base)
	t.padsRead.Add(int64(len(sites)))
	return sites, ok
}

// HandlesExceptions reports whether the file has handlers of exceptions, and not only code that puts things in order when one passes.
func (t *Table) HandlesExceptions() bool {
	return t.hasPad(func(s LandingPad) bool { return s.handles })
}

// HasLandingPads reports whether anything is done in the file when an exception passes, or a thread is cancelled: destructors, for example.
func (t *Table) HasLandingPads() bool { return t.hasPad(func(LandingPad) bool { return true }) }

func (t *Table) hasPad(is func(LandingPad) bool) bool {
	return slices.ContainsFunc(t.Described(), func(d FDE) bool {
		sites, _ := t.LandingPads(&d)
		return slices.ContainsFunc(sites, is)
	})
}

// maxPads bounds how many are read of an object, as often as they are read: all functions may claim the same long table.
const maxPads = 64 << 20

// maxSites bounds the calls of one function that an exception may come out of.
const maxSites = 1 << 18

func callSites(r *elffile.Reader, start, base uint64) (sites []LandingPad, ok bool) {
	enc := r.Byte()
	t := r.Part(r.ULEB())
	if r.Bad {
		return nil, false
	}
	for len(t.Rest) > 0 {
		lo, ok1 := pointer(t, enc)
		n, ok2 := pointer(t, enc)
		pad, ok3 := pointer(t, enc)
		action := t.ULEB()
		if !ok1 || !ok2 || !ok3 || t.Bad || len(sites) == maxSites {
			return sites, false
		}
		if pad != 0 {
			sites = append(sites, LandingPad{start + lo, start + lo + n, base + pad, action != 0})
		}
	}
	return sites, true
}
