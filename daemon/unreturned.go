package daemon

import (
	"slices"

	"culprit/pcl"
	"culprit/trampoline"
)

// A call may end without a return: an exception passes through it, or longjmp leaves it. What ends with its activation (a timer, a flag)
// then ends where the thread goes on in a caller further up. A function is called on the way there, and the code stands at its entry.

// A landing is such a function.
type landing struct {
	f      *function
	ending trampoline.Ending
}

// landings are those of a target.
type landings struct {
	of      []landing
	changes int // of the target when they were found, 0 = never
}

// catchers are called first in every landing of an exception, by the function that has the landing: of C++, and of Rust's catch_unwind.
var catchers = []string{"__cxa_begin_catch", "std::panicking::catch_unwind::cleanup", "std::panicking::try::cleanup"}

// jumpers leave for where setjmp was called. Their first argument has the stack pointer there, as glibc writes it.
var jumpers = []string{"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"}

// landingsOf are the landings that the target has and that take a probe. Jumpers that no other file imports are left out: the C library
// itself calls them only when a thread ends.
func (t *target) landingsOf() []landing {
	if t.landings.changes == t.changes {
		return t.landings.of
	}
	all := []landing{}
	add := func(f *function, e trampoline.Ending) {
		if f.analyse(); f.reason != "" || t.reachIsland(f.addr()) == nil || slices.ContainsFunc(all, func(h landing) bool { return h.f == f }) {
			return
		}
		if _, err := t.siteOf(f, f.points[pcl.Entry][0]); err == nil {
			all = append(all, landing{f, e})
		}
	}
	for _, name := range catchers {
		for _, id := range t.Named(name) {
			add(t.funcs[id], trampoline.ByCatch)
		}
	}
	for _, name := range jumpers {
		for _, id := range t.Named(name) {
			if f := t.funcs[id]; f.obj.isGlibc() && t.imports(name, f.obj) {
				add(f, trampoline.ByJump)
			}
		}
	}
	t.landings.of, t.landings.changes = all, t.changes
	return all
}

// imports reports whether an object imports a function from another one. Of a function of the program itself it is taken to be used.
func (t *target) imports(name string, from *object) bool {
	return from == t.main() || slices.ContainsFunc(t.objects, func(o *object) bool { return o != from && o.Imports(name) })
}

// isGlibc reports whether an object is, or has linked in, the GNU C library.
func (o *object) isGlibc() bool {
	return len(o.Named("gnu_get_libc_version")) > 0 || len(o.Named("__libc_early_init")) > 0
}

// unreturned adds to the landings what a request of a part ends, and returns their sites: each activation that a thread leaves for good ends
// there, whether or not it is in the focus then. Functions that call nothing are not left but by signals, and those of a library's list return.
func (p *part) unreturned(f *function, r *pcl.Request) ([]*site, error) {
	ends := leavesOf(r)
	if len(ends.Code) == 0 || r.Listed || f.flow == nil || len(f.flow.Calls) == 0 {
		return nil, nil
	}
	minis, err := p.minis(ends)
	if err != nil {
		return nil, err
	}
	var sites []*site
	for _, h := range p.t.landingsOf() {
		pt := h.f.points[pcl.Entry][0]
		s, err := p.t.siteOf(h.f, pt)
		if err != nil {
			return nil, err
		}
		code := slices.Clone(minis)
		for i := range code {
			code[i].Ending = h.ending
		}
		if !s.has(pt, p, code) {
			s.add(pt, p, code, true)
		}
		sites = append(sites, s)
	}
	return sites, nil
}

// leavesOf is a request of which nothing is left but the ends of activations. Whatever it made dependent on a result or on the focus does
// not matter for a call that will not return.
func leavesOf(r *pcl.Request) *pcl.Request {
	ends := &pcl.Request{Func: r.Func, Where: r.Where}
	if r.Where != pcl.Return {
		return ends
	}
	for _, in := range r.Code {
		if in.Op == pcl.OpTimerLeave || in.Op == pcl.OpFlagLeave {
			ends.Code = append(ends.Code, pcl.Instr{Op: in.Op, Var: in.Var})
		}
	}
	return ends
}
