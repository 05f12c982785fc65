package sites

import (
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/pcl"
	"culprit/trampoline"
)

// A call may end without a return: an exception passes through it, longjmp leaves it, or its thread ends. What ends with its activation (a
// timer, a flag) then ends where the thread goes on in a caller further up. A function is called on the way there, and the code stands at
// its entry.

// A Landing is the entry of such a function.
type Landing struct {
	Place
	landing
}

// Mark has code end the activations that are left by the landing.
func (l *Landing) Mark(code []trampoline.Mini) {
	for i := range code {
		code[i].Ending, code[i].FrameAt = l.ending, l.frameAt
	}
}

type landing struct {
	f       *program.Function
	ending  trampoline.Ending
	frameAt int32 // of one ByUnwind: see trampoline.Mini
	thread  bool  // the thread ends
}

// landings are those that were found when room was made for code at them.
type landings struct {
	of      []landing
	version int // of the program then; 0 = never
}

// Landings are where what a request ends also ends: each activation that a thread leaves for good ends there, whether or not it is in the focus
// then. Functions that call nothing are not left but by signals, and those of a library's list return, unless their thread is cancelled in
// them.
func (s *Finder) Landings(r *pcl.Request) (all []Landing) {
	f := s.Code.Func(r.Func)
	if f == nil || len(r.Ends().Code) == 0 || !f.CallsOthers() {
		return nil
	}
	known := s.landings.of
	if s.landings.version != s.Code.Version() {
		known = s.findLandings(func(uint64) {}) // nothing is mapped now
	}
	for _, l := range known {
		if r.Listed && !l.thread {
			continue
		}
		entry := s.Plans.Made(l.f).Entry() // its plan may have been forgotten since
		if len(entry) == 0 {
			continue
		}
		at := Point{l.f, entry[0]}
		if site, err := s.siteOf(at); err == nil { // it was one when landings were looked for
			all = append(all, Landing{Place{at, site}, l})
		}
	}
	return all
}

// makeRoomBeyond makes room for trampolines where code of a request stands in other functions than its own.
func (s *Finder) makeRoomBeyond(f *program.Function, r *pcl.Request) {
	if r.EndsActivations() {
		s.makeRoomBehind(f, nil)
	}
	if len(r.Ends().Code) == 0 || !f.CallsOthers() || s.landings.version == s.Code.Version() {
		return
	}
	room := func(addr uint64) { s.Text.Island(addr) }
	s.landings.of, s.landings.version = s.findLandings(room), s.Code.Version()
}

// findLandings are the landings that the program has and that take a probe. Jumpers that no other file imports are left out: the C library
// itself calls them only when a thread ends. room is told which code needs room for trampolines.
func (s *Finder) findLandings(room func(addr uint64)) []landing {
	all := s.landingsNamed([]string{libc.SetIP}, room, setsFrame)
	if len(all) == 0 {
		all = s.landingsNamed([]string{libc.BeginCatch}, room, func(f *program.Function) (landing, bool) { return landing{f: f, ending: trampoline.ByCaller}, true })
	}
	for _, name := range libc.Jumpers() {
		all = append(all, s.landingsNamed([]string{name}, room, func(f *program.Function) (landing, bool) {
			return landing{f: f, ending: trampoline.ByJump}, s.imports(name, f.Obj) && unmangles(f)
		})...)
	}
	all = append(all, s.landingsNamed(libc.ThreadEnds(), room, func(f *program.Function) (landing, bool) {
		return landing{f: f, ending: trampoline.ByCaller, thread: true}, true
	})...)
	return slices.CompactFunc(all, func(a, b landing) bool { return a.f == b.f })
}

// landingsNamed are those of functions that have one of the names, are what they are taken for, and take a probe.
func (s *Finder) landingsNamed(names []string, room func(addr uint64), what func(*program.Function) (landing, bool)) (all []landing) {
	for _, name := range names {
		for _, id := range s.Code.Named(name) {
			f := s.Code.Func(id)
			room(f.Addr())
			pl := s.Plans.Made(f)
			if pl.Reason() != "" || !s.Text.Reaches(f.Addr()) {
				continue
			}
			l, ok := what(f)
			if !ok {
				continue
			}
			if _, err := s.siteOf(Point{f, pl.Entry()[0]}); err == nil {
				all = append(all, l)
			}
		}
	}
	return all
}

// setsFrame is the landing of an unwinder's function, if it is that of libgcc and the unwinder's context has the stack pointer of the frame
// where another function of the same unwinder reads it.
func setsFrame(f *program.Function) (l landing, ok bool) {
	if !libc.SetsIP(wholeCode(f.Obj, f.Fn)) {
		return l, false
	}
	for _, get := range f.Obj.Named(libc.GetCFA) {
		if at, ok := libc.CFAAt(wholeCode(f.Obj, get)); ok {
			return landing{f: f, ending: trampoline.ByUnwind, frameAt: at}, true
		}
	}
	return l, false
}

// wholeCode is the code of a function, nil if it cannot be read.
func wholeCode(o *program.Object, fn *image.Function) []byte {
	code, err := o.Code(fn.Addr, fn.Addr+fn.Size)
	if err != nil {
		return nil
	}
	return code
}

// hiddenHandlers are the files that handle exceptions with an unwinder of their own that has no names.
type hiddenHandlers struct {
	names   []string
	version int // of the program when these were looked for; 0 = never
}

// HiddenHandlers are the files that handle exceptions where no probe sees it.
func (s *Finder) HiddenHandlers() []string {
	h := &s.hidden
	if h.version == s.Code.Version() {
		return h.names
	}
	h.names, h.version = nil, s.Code.Version()
	for _, o := range s.Code.Objects() {
		named := o.Defines(libc.SetIP) || o.Defines(libc.BeginCatch)
		if !named && !slices.ContainsFunc(libc.UnwinderUsers(), o.Imports) && o.HandlesExceptions() {
			h.names = append(h.names, o.Name)
		}
	}
	return h.names
}

// imports reports whether an object imports a function from another one. Of a function of the program itself it is taken to be used.
func (s *Finder) imports(name string, from *program.Object) bool {
	return from == s.Code.Main() || slices.ContainsFunc(s.Code.Objects(), func(o *program.Object) bool { return o != from && o.Imports(name) })
}

// unmangles reports whether what is called longjmp is glibc's: one of the functions that it calls begins as there. A function of another
// library, or of the program's own, may have another buffer, or none.
func unmangles(f *program.Function) bool {
	w := f.Flow()
	return w != nil && slices.ContainsFunc(w.Calls, func(c image.CallSite) bool {
		code, err := f.Obj.Code(c.Target, c.Target+libc.MaxUnmangling)
		return err == nil && libc.Unmangles(code)
	})
}
