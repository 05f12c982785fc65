package program

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/pcl"
)

// The functions of a program that somebody has asked for. A server of many processes maps the same files in each of them: what
// is the same for all, the names and where they lead, is made once; what belongs to one is made when it is first named.

// Know makes functions of an object known and returns their ids, in order of address. Those that are not mapped are left out: a program may map
// a part of a file a second time (node does so with V8's built-in functions).
func (p *Program) Know(o *Object, fns []*image.Function) (ids []pcl.FuncID) {
	for _, fn := range fns {
		if !o.Holds(fn.Addr + o.Bias) {
			continue
		}
		id := pcl.FuncID(fn.Addr + o.Bias)
		if p.funcs[id] == nil {
			p.funcs[id] = &Function{ID: id, Obj: o, Fn: fn}
		}
		ids = append(ids, id)
	}
	return ids
}

// A Name is how people name a function; in any module if that is "".
type Name struct{ Module, Function string }

// Compare orders names by module, then by function.
func (n Name) Compare(m Name) int {
	return cmp.Or(strings.Compare(n.Module, m.Module), strings.Compare(n.Function, m.Function))
}

// maxFound bounds how many names of functions a program remembers; then it begins anew.
const maxFound = 1 << 14

// A finder remembers which functions names stand for: the search asks for the same ones again and again.
type finder struct {
	changes int // of the program when they were found
	ids     map[Name][]pcl.FuncID
}

// namely are the functions of a name. They must not be changed.
func (p *Program) namely(n Name) []pcl.FuncID {
	f := &p.found
	if ids, ok := f.ids[n]; ok && f.changes == p.changes {
		return ids
	}
	if f.ids == nil || f.changes != p.changes || len(f.ids) >= maxFound {
		f.changes, f.ids = p.changes, map[Name][]pcl.FuncID{}
	}
	ids := p.find(n)
	f.ids[n] = ids
	return ids
}

// find makes the functions of a name known, in order of address.
func (p *Program) find(n Name) (ids []pcl.FuncID) {
	n.Module = p.spelt(n.Module)
	for _, o := range p.list {
		if n.Module == "" {
			ids = append(ids, p.Know(o, o.Named(n.Function))...)
		} else {
			ids = append(ids, p.Know(o, o.InModule(n.Module, n.Function))...)
		}
	}
	if len(ids) == 0 && printed(n.Function) {
		ids = p.shownAs(n)
	}
	return Distinct(ids)
}

// Named implements pcl.Env.
func (p *Program) Named(name string) []pcl.FuncID {
	return slices.Clone(p.namely(Name{"", name}))
}

// Distinct are the ids in order, each once. The list that it is given is used for it.
func Distinct(ids []pcl.FuncID) []pcl.FuncID {
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
func (p *Program) Matching(pattern string, regex bool) (ids []pcl.FuncID) {
	match := pcl.Matcher(pattern, regex)
	for _, o := range p.list {
		for _, fn := range o.Functions() {
			if match(fn.Name) || fn.Linkage != "" && match(fn.Linkage) {
				ids = append(ids, p.Know(o, []*image.Function{fn})...)
			}
		}
	}
	return Distinct(ids)
}

// Function implements pcl.Env.
func (p *Program) Function(module, function string) []pcl.FuncID {
	n := Name{module, function}
	return slices.Concat(p.namely(n), p.generatedNamed(n))
}

// ModuleFunctions implements pcl.Env.
func (p *Program) ModuleFunctions(module string) (ids []pcl.FuncID) {
	module = p.spelt(module)
	for _, o := range p.list {
		ids = append(ids, p.Know(o, o.ModuleFunctions(module))...)
	}
	return append(ids, p.generatedIn(module)...)
}

// HasModule reports whether functions of the program belong to a module.
func (p *Program) HasModule(module string) bool {
	module = p.spelt(module)
	return slices.ContainsFunc(p.list, func(o *Object) bool { return len(o.ModuleFunctions(module)) > 0 }) || len(p.generatedIn(module)) > 0
}

// Modules implements pcl.Env.
func (p *Program) Modules() (mods []string) {
	for _, o := range p.list {
		mods = append(mods, o.Modules()...)
	}
	slices.Sort(mods)
	return slices.Compact(mods)
}

// FuncName implements pcl.Env.
func (p *Program) FuncName(id pcl.FuncID) string {
	if f := p.funcs[id]; f != nil {
		return f.Fn.Name
	}
	return ""
}

// FuncModule implements pcl.Env.
func (p *Program) FuncModule(id pcl.FuncID) string {
	if f := p.funcs[id]; f != nil {
		return f.Fn.Module
	}
	return ""
}

// Line implements pcl.Env.
func (p *Program) Line(file string, line int) (points []pcl.CodePoint) {
	for _, o := range p.list {
		for _, a := range o.LineAddrs(file, line) {
			if f := p.FunctionAt(a + o.Bias); f != nil {
				points = append(points, pcl.CodePoint{Func: f.ID, Offset: int(int64(a + o.Bias - f.Addr()))})
			}
		}
	}
	return points
}

// Exit implements pcl.Env.
func (p *Program) Exit() (ids []pcl.FuncID) {
	for _, n := range libc.Exits() {
		ids = append(ids, p.Named(n)...)
	}
	return Distinct(ids)
}
