package daemon

import (
	"bytes"
	"encoding/binary"
	"slices"

	"culprit/daemon/image"
	"culprit/pcl"
	"culprit/trampoline"
)

// A call may end without a return: an exception passes through it, longjmp leaves it, or its thread ends. What ends with its activation (a
// timer, a flag) then ends where the thread goes on in a caller further up. A function is called on the way there, and the code stands at
// its entry.

// A landing is such a function.
type landing struct {
	f       *function
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

// Names of landings.
var (
	// The unwinder's function with which a handler or a destructor's caller is set as the place to go on, before the frames below are gone;
	// in C++, Rust, Ada and others.
	setters = []string{"_Unwind_SetIP"}
	// Where that unwinder is not libgcc's, what each handler of C++ calls first.
	catchers = []string{"__cxa_begin_catch"}
	// They leave for where setjmp was called.
	jumpers = []string{"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"}
	// What glibc calls from where it has called a thread's own function, when that has ended in any way. It is the second where no object
	// has destructors of thread-local variables.
	threadEnds = []string{"__call_tls_dtors", "__nptl_deallocate_tsd"}
)

// landingsOf are the landings that the target has and that take a probe. Jumpers that no other file imports are left out: the C library
// itself calls them only when a thread ends.
func (t *target) landingsOf() []landing {
	if t.landings.changes == t.changes {
		return t.landings.of
	}
	all := t.landingsNamed(setters, t.setsFrame)
	if len(all) == 0 {
		all = t.landingsNamed(catchers, func(f *function) (landing, bool) { return landing{f: f, ending: trampoline.ByCaller}, true })
	}
	for _, name := range jumpers {
		all = append(all, t.landingsNamed([]string{name}, func(f *function) (landing, bool) {
			return landing{f: f, ending: trampoline.ByJump}, t.imports(name, f.obj) && f.unmangles()
		})...)
	}
	all = append(all, t.landingsNamed(threadEnds, func(f *function) (landing, bool) {
		return landing{f: f, ending: trampoline.ByCaller, thread: true}, true
	})...)
	t.landings.of, t.landings.changes = slices.CompactFunc(all, func(a, b landing) bool { return a.f == b.f }), t.changes
	return t.landings.of
}

// landingsNamed are those of functions that have one of the names, are what they are taken for, and take a probe.
func (t *target) landingsNamed(names []string, what func(*function) (landing, bool)) (all []landing) {
	for _, name := range names {
		for _, id := range t.Named(name) {
			f := t.funcs[id]
			if f.analyse(); f.reason != "" || t.reachIsland(f.addr()) == nil {
				continue
			}
			l, ok := what(f)
			if !ok {
				continue
			}
			if _, err := t.siteOf(f, f.points[pcl.Entry][0]); err == nil {
				all = append(all, l)
			}
		}
	}
	return all
}

// setsFrame is the landing of an unwinder's function, if it is that of libgcc (mov %rsi,OFFSET(%rdi); ret) and the unwinder's context has the
// stack pointer of the frame where another function of the same unwinder reads it (mov OFFSET(%rdi),%rax; ret).
func (t *target) setsFrame(f *function) (l landing, ok bool) {
	if _, ok := accesses(f.obj, f.fn, []byte{0x48, 0x89, 0xb7}); !ok {
		return l, false
	}
	for _, get := range f.obj.Named("_Unwind_GetCFA") {
		if at, ok := accesses(f.obj, get, []byte{0x48, 0x8b, 0x87}); ok {
			return landing{f: f, ending: trampoline.ByUnwind, frameAt: at}, true
		}
	}
	return l, false
}

// accesses is the offset of a function that does nothing but one access to memory behind its first argument, whose code begins with op.
func accesses(o *object, fn *image.Function, op []byte) (offset int32, ok bool) {
	code, err := o.Code(fn.Addr, fn.Addr+fn.Size)
	if err != nil {
		return 0, false
	}
	code = bytes.TrimPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
	if len(code) != 8 || !bytes.HasPrefix(code, op) || code[7] != 0xc3 {
		return 0, false
	}
	return int32(binary.LittleEndian.Uint32(code[3:])), true
}

// unwinders are imported by whoever does not have an unwinder of its own.
var unwinders = []string{"_Unwind_Resume", "_Unwind_RaiseException", "__cxa_begin_catch", "__cxa_throw"}

// hiddenHandlers are the objects that handle exceptions with an unwinder of their own that has no names.
func (t *target) hiddenHandlers() []string {
	l := &t.landings
	if l.looked == t.changes {
		return l.hidden
	}
	l.hidden, l.looked = nil, t.changes
	for _, o := range t.objects {
		named := len(o.Named("_Unwind_SetIP")) > 0 || len(o.Named("__cxa_begin_catch")) > 0
		if !named && !slices.ContainsFunc(unwinders, o.Imports) && o.HandlesExceptions() {
			l.hidden = append(l.hidden, o.name)
		}
	}
	return l.hidden
}

// imports reports whether an object imports a function from another one. Of a function of the program itself it is taken to be used.
func (t *target) imports(name string, from *object) bool {
	return from == t.main() || slices.ContainsFunc(t.objects, func(o *object) bool { return o != from && o.Imports(name) })
}

// How glibc's longjmp gets the stack pointer: it is loaded from the buffer and freed from what setjmp has done to it.
var unmangling = [][]byte{
	{0x4c, 0x8b, 0x47, 0x30},                               // mov 0x30(%rdi),%r8
	{0x49, 0xc1, 0xc8, 0x11},                               // ror $0x11,%r8
	{0x64, 0x4c, 0x33, 0x04, 0x25, 0x30, 0x00, 0x00, 0x00}, // xor %fs:0x30,%r8
}

// maxUnmangling is in how many bytes of code that is.
const maxUnmangling = 64

// unmangles reports whether what is called longjmp is glibc's: one of the functions that it calls begins as there. A function of another
// library, or of the program's own, may have another buffer, or none.
func (f *function) unmangles() bool {
	return f.flow != nil && slices.ContainsFunc(f.flow.Calls, func(c image.CallSite) bool {
		code, err := f.obj.Code(c.Target, c.Target+maxUnmangling)
		return err == nil && !slices.ContainsFunc(unmangling, func(in []byte) bool { return !bytes.Contains(code, in) })
	})
}
