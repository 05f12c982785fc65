package image

import "slices"

// landingPads gives the addresses at which exceptions continue in the code of f, from its language-specific data: an optional
// base, an optional type table, then the call-site table (GCC's unwind-c.c, parse_lsda_header). ok is false if the data cannot
// be read, so that pads may be missing.
func (o *Object) landingPads(f *fde) (pads []uint64, ok bool) {
	sites, ok := o.padSites(f)
	for _, s := range sites {
		pads = append(pads, s.pad)
	}
	return pads, ok
}

// A padSite says that an exception out of a call in [lo, hi) continues at pad.
type padSite struct {
	lo, hi, pad uint64
	handles     bool // it may end there, and does not only pass
}

// padSites reads the call-site table of f.
func (o *Object) padSites(f *fde) (sites []padSite, ok bool) {
	if f.lsdaLost {
		return nil, false
	}
	if f.lsda == 0 {
		return nil, true
	}
	s := o.sectionAt(f.lsda)
	if s == nil {
		return nil, false
	}
	r := &reader{b: s.slice(f.lsda, s.end()-f.lsda), addr: f.lsda}
	base := f.lo
	if enc := r.u8(); enc != peOmit {
		if base, ok = r.pointer(enc); !ok {
			return nil, false
		}
	}
	if enc := r.u8(); enc != peOmit {
		r.uleb()
	}
	if o.padsRead.Load() > maxPads {
		o.leftOut("functions of %s with exceptions are not measured: it claims more than %d landing pads", o.name, maxPads)
		return nil, false
	}
	sites, ok = callSites(r, f.lo, base)
	o.padsRead.Add(int64(len(sites)))
	return sites, ok
}

// HandlesExceptions reports whether the file has handlers of exceptions, and not only code that puts things in order when one passes.
func (o *Object) HandlesExceptions() bool { return o.hasPad(func(s padSite) bool { return s.handles }) }

// HasLandingPads reports whether anything is done in the file when an exception passes, or a thread is cancelled: destructors, for example.
func (o *Object) HasLandingPads() bool { return o.hasPad(func(padSite) bool { return true }) }

func (o *Object) hasPad(is func(padSite) bool) bool {
	return slices.ContainsFunc(o.ehFrames().fdes, func(d fde) bool {
		sites, _ := o.padSites(&d)
		return slices.ContainsFunc(sites, is)
	})
}

// maxPads bounds how many are read of an object, as often as they are read: all functions may claim the same long table.
const maxPads = 64 << 20

// maxSites bounds the calls of one function that an exception may come out of.
const maxSites = 1 << 18

func callSites(r *reader, start, base uint64) (sites []padSite, ok bool) {
	enc := r.u8()
	t := r.part(r.uleb())
	if r.bad {
		return nil, false
	}
	for len(t.b) > 0 {
		lo, ok1 := t.pointer(enc)
		n, ok2 := t.pointer(enc)
		pad, ok3 := t.pointer(enc)
		action := t.uleb()
		if !ok1 || !ok2 || !ok3 || t.bad || len(sites) == maxSites {
			return sites, false
		}
		if pad != 0 {
			sites = append(sites, padSite{start + lo, start + lo + n, base + pad, action != 0})
		}
	}
	return sites, true
}
