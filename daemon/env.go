package daemon

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// A target answers what the PCL compiler asks: it is a pcl.Env.

var _ pcl.Env = (*target)(nil)

// Named implements pcl.Env.
func (t *target) Named(name string) []pcl.FuncID {
	return slices.Clone(t.found.get(t, funcName{"", name}))
}

func distinct(ids []pcl.FuncID) []pcl.FuncID {
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	out := ids[:0]
	for i, id := range ids {
		if i == 0 || id != ids[i-1] {
			out = append(out, id)
		}
	}
	return out
}

// Matching implements pcl.Env.
func (t *target) Matching(pattern string, regex bool) (ids []pcl.FuncID) {
	match := pcl.Matcher(pattern, regex)
	for _, o := range t.objects {
		for _, fn := range o.Functions() {
			if match(fn.Name) || fn.Linkage != "" && match(fn.Linkage) {
				ids = append(ids, t.know(o, []*image.Function{fn})...)
			}
		}
	}
	return distinct(ids)
}

// Function implements pcl.Env.
func (t *target) Function(module, function string) []pcl.FuncID {
	return slices.Clone(t.found.get(t, funcName{module, function}))
}

// ModuleFunctions implements pcl.Env.
func (t *target) ModuleFunctions(module string) (ids []pcl.FuncID) {
	for _, o := range t.objects {
		ids = append(ids, t.know(o, o.ModuleFunctions(module))...)
	}
	return ids
}

// hasModule reports whether functions of the target belong to a module.
func (t *target) hasModule(module string) bool {
	return slices.ContainsFunc(t.objects, func(o *object) bool { return len(o.ModuleFunctions(module)) > 0 })
}

// Modules implements pcl.Env.
func (t *target) Modules() (mods []string) {
	for _, o := range t.objects {
		mods = append(mods, o.Modules()...)
	}
	slices.Sort(mods)
	return slices.Compact(mods)
}

// FuncName implements pcl.Env.
func (t *target) FuncName(id pcl.FuncID) string {
	if f := t.funcs[id]; f != nil {
		return f.fn.Name
	}
	return ""
}

// FuncModule implements pcl.Env.
func (t *target) FuncModule(id pcl.FuncID) string {
	if f := t.funcs[id]; f != nil {
		return f.fn.Module
	}
	return ""
}

// CallSites implements pcl.Env.
func (t *target) CallSites(id pcl.FuncID) (sites []pcl.CallSite) {
	f := t.funcs[id]
	if f == nil {
		return nil
	}
	f.analyse()
	if f.flow == nil {
		return nil
	}
	for i, c := range f.flow.Calls {
		s := pcl.CallSite{Caller: id, Index: i}
		if g := t.callee(f.obj, c); g != nil {
			s.Callee = g.id
		}
		sites = append(sites, s)
	}
	return sites
}

// callee resolves a direct call, through the procedure linkage table where it goes through it.
func (t *target) callee(o *object, c image.CallSite) *function {
	if c.Import != "" {
		if ids := t.Named(c.Import); len(ids) > 0 {
			return t.funcs[ids[0]]
		}
		return nil
	}
	if c.Target == 0 {
		return nil
	}
	return t.functionAt(c.Target + o.bias)
}

// Loop implements pcl.Env.
func (t *target) Loop(id pcl.FuncID, name string) (number int, ok bool) {
	f := t.funcs[id]
	if f == nil {
		return 0, false
	}
	for i, l := range f.findLoops() {
		if l.Name == name {
			return i, true
		}
	}
	return 0, false
}

// Line implements pcl.Env.
func (t *target) Line(file string, line int) (points []pcl.CodePoint) {
	for _, o := range t.objects {
		for _, a := range o.LineAddrs(file, line) {
			if f := t.functionAt(a + o.bias); f != nil {
				points = append(points, pcl.CodePoint{Func: f.id, Offset: int(int64(a + o.bias - f.addr()))})
			}
		}
	}
	return points
}

// Start implements pcl.Env: main and the functions that threads were seen to start with.
func (t *target) Start() []pcl.FuncID { return distinct(append(t.Named("main"), t.roots()...)) }

// Exit implements pcl.Env.
func (t *target) Exit() (ids []pcl.FuncID) {
	for _, n := range libc.Exits() {
		ids = append(ids, t.Named(n)...)
	}
	return distinct(ids)
}

// Object implements pcl.Env.
func (t *target) Object(h grid.Hierarchy, elems []string) (uint64, error) {
	v, ok := t.locks.value(h, elems)
	if !ok {
		return 0, fmt.Errorf("process %s has no /%s/%s that was seen so far", t.name, h, strings.Join(elems, "/"))
	}
	return v, nil
}

// OpenedAs implements pcl.Env.
func (t *target) OpenedAs(elems []string) []string { return t.files.openedAs(elems) }

// Machine implements pcl.Env.
func (t *target) Machine() string { return t.d.host }

// Flavors implements pcl.Env.
func (t *target) Flavors() []string {
	list := []string{"any", "unix", "c", "cxx", "rust"}
	if t.usesMPI() {
		list = append(list, "mpi")
	}
	return list
}

// pointsOf returns the points of a function that a request names: none behind a call that never comes back.
func (f *function) pointsOf(r pcl.Request) []trampoline.Point {
	switch {
	case r.Where == pcl.Entry, r.Where == pcl.Return:
		return f.points[r.Where]
	case r.Where.OfLoop():
		return f.loopPoints(r.Where, r.Site)
	case r.Where == pcl.Insn:
		return f.insnPoint(r)
	}
	i := 2 * r.Site
	if r.Post {
		if f.neverReturns(r.Site) {
			return nil
		}
		i++
	}
	if all := f.points[pcl.Call]; i < len(all) {
		return all[i : i+1]
	}
	return nil
}

// neverReturns reports whether nothing of the function is where a call would come back to: what it calls ends the program, or
// throws.
func (f *function) neverReturns(site int) bool {
	return f.flow != nil && site < len(f.flow.Calls) && !f.flow.In(f.flow.Calls[site].Ret)
}

// reachedOtherwise reports whether something may jump to where a call comes back to.
func (f *function) reachedOtherwise(site int) bool {
	if f.flow == nil || site >= len(f.flow.Calls) {
		return false
	}
	return f.flow.Targets.Has(f.flow.Calls[site].Ret)
}
