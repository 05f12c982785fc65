package daemon

import (
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/trampoline"
)

// A call may end without a return: an exception passes through it, longjmp leaves it, or its thread ends. What ends with its activation (a
// timer, a flag) then ends where the thread goes on in a caller further up. A function is called on the way there, and the code stands at
// its entry.

// A landing is such a function.
type landing struct {
	f       *program.Function
	ending  trampoline.Ending
	frameAt int32 // of one ByUnwind: see trampoline.Mini
	thread  bool  // the thread ends
}

// landings are those of a target.
type landings struct {
	of      []landing
	changes int      // of the target when they were found, 0 = never
	hidden  []string // objects whose handlers cannot be seen
	looked  int      // changes when these were looked for
}

// landingsOf are the landings that the target has and that take a probe. Jumpers that no other file imports are left out: the C library
// itself calls them only when a thread ends.
func (t *measured) landingsOf() []landing {
	if t.landings.changes == t.Version() {
		return t.landings.of
	}
	all := t.landingsNamed([]string{libc.SetIP}, t.setsFrame)
	if len(all) == 0 {
		all = t.landingsNamed([]string{libc.BeginCatch}, func(f *program.Function) (landing, bool) { return landing{f: f, ending: trampoline.ByCaller}, true })
	}
	for _, name := range libc.Jumpers() {
		all = append(all, t.landingsNamed([]string{name}, func(f *program.Function) (landing, bool) {
			return landing{f: f, ending: trampoline.ByJump}, t.imports(name, f.Obj) && unmangles(f)
		})...)
	}
	all = append(all, t.landingsNamed(libc.ThreadEnds(), func(f *program.Function) (landing, bool) {
		return landing{f: f, ending: trampoline.ByCaller, thread: true}, true
	})...)
	t.landings.of, t.landings.changes = slices.CompactFunc(all, func(a, b landing) bool { return a.f == b.f }), t.Version()
	return t.landings.of
}

// landingsNamed are those of functions that have one of the names, are what they are taken for, and take a probe.
func (t *measured) landingsNamed(names []string, what func(*program.Function) (landing, bool)) (all []landing) {
	for _, name := range names {
		for _, id := range t.Named(name) {
			f := t.Func(id)
			pl := t.Plans.Made(f)
			if pl.Reason() != "" || t.Text.Island(f.Addr()) == nil {
				continue
			}
			l, ok := what(f)
			if !ok {
				continue
			}
			if _, err := t.siteOf(f, pl.Entry()[0]); err == nil {
				all = append(all, l)
			}
		}
	}
	return all
}

// setsFrame is the landing of an unwinder's function, if it is that of libgcc and the unwinder's context has the stack pointer of the frame
// where another function of the same unwinder reads it.
func (t *measured) setsFrame(f *program.Function) (l landing, ok bool) {
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

// HiddenHandlers are the objects that handle exceptions with an unwinder of their own that has no names.
func (t *measured) HiddenHandlers() []string {
	l := &t.landings
	if l.looked == t.Version() {
		return l.hidden
	}
	l.hidden, l.looked = nil, t.Version()
	for _, o := range t.Objects() {
		named := len(o.Named(libc.SetIP)) > 0 || len(o.Named(libc.BeginCatch)) > 0
		if !named && !slices.ContainsFunc(libc.UnwinderUsers(), o.Imports) && o.HandlesExceptions() {
			l.hidden = append(l.hidden, o.Name)
		}
	}
	return l.hidden
}

// imports reports whether an object imports a function from another one. Of a function of the program itself it is taken to be used.
func (t *measured) imports(name string, from *program.Object) bool {
	return from == t.Main() || slices.ContainsFunc(t.Objects(), func(o *program.Object) bool { return o != from && o.Imports(name) })
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
