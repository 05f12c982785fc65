package daemon

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/pcl"
)

// The functions of a target that somebody has asked for. A server of many processes maps the same files in each of them: what
// is the same for all, the names and where they lead, is made once; what belongs to one is made when it is first named.

// know makes functions of an object known and returns their ids, in order of address. Those that are not mapped are left out: a program may map
// a part of a file a second time (node does so with V8's built-in functions).
func (p *program) know(o *object, fns []*image.Function) (ids []pcl.FuncID) {
	for _, fn := range fns {
		if !o.holds(fn.Addr + o.bias) {
			continue
		}
		id := pcl.FuncID(fn.Addr + o.bias)
		if p.funcs[id] == nil {
			p.funcs[id] = &function{id: id, obj: o, fn: fn}
		}
		ids = append(ids, id)
	}
	return ids
}

// A funcName is how people name a function; in any module if that is "".
type funcName struct{ module, function string }

// compare orders names by module, then by function.
func (n funcName) compare(m funcName) int {
	return cmp.Or(strings.Compare(n.module, m.module), strings.Compare(n.function, m.function))
}

// maxFound bounds how many names of functions a target remembers; then it begins anew.
const maxFound = 1 << 14

// A finder remembers which functions names stand for: the search asks for the same ones again and again.
type finder struct {
	changes int // of the target when they were found
	ids     map[funcName][]pcl.FuncID
}

// namely are the functions of a name. They must not be changed.
func (p *program) namely(n funcName) []pcl.FuncID {
	f := &p.found
	if ids, ok := f.ids[n]; ok && f.changes == p.changes {
		return ids
	}
	if f.ids == nil || f.changes != p.changes || len(f.ids) >= maxFound {
		f.changes, f.ids = p.changes, map[funcName][]pcl.FuncID{}
	}
	ids := p.find(n)
	f.ids[n] = ids
	return ids
}

// find makes the functions of a name known, in order of address.
func (p *program) find(n funcName) (ids []pcl.FuncID) {
	for _, o := range p.list {
		if n.module == "" {
			ids = append(ids, p.know(o, o.Named(n.function))...)
		} else {
			ids = append(ids, p.know(o, o.InModule(n.module, n.function))...)
		}
	}
	return distinct(ids)
}

// Named implements pcl.Env.
func (p *program) Named(name string) []pcl.FuncID {
	return slices.Clone(p.namely(funcName{"", name}))
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
func (p *program) Matching(pattern string, regex bool) (ids []pcl.FuncID) {
	match := pcl.Matcher(pattern, regex)
	for _, o := range p.list {
		for _, fn := range o.Functions() {
			if match(fn.Name) || fn.Linkage != "" && match(fn.Linkage) {
				ids = append(ids, p.know(o, []*image.Function{fn})...)
			}
		}
	}
	return distinct(ids)
}

// Function implements pcl.Env.
func (p *program) Function(module, function string) []pcl.FuncID {
	return slices.Clone(p.namely(funcName{module, function}))
}

// ModuleFunctions implements pcl.Env.
func (p *program) ModuleFunctions(module string) (ids []pcl.FuncID) {
	for _, o := range p.list {
		ids = append(ids, p.know(o, o.ModuleFunctions(module))...)
	}
	return ids
}

// hasModule reports whether functions of the target belong to a module.
func (p *program) hasModule(module string) bool {
	return slices.ContainsFunc(p.list, func(o *object) bool { return len(o.ModuleFunctions(module)) > 0 })
}

// Modules implements pcl.Env.
func (p *program) Modules() (mods []string) {
	for _, o := range p.list {
		mods = append(mods, o.Modules()...)
	}
	slices.Sort(mods)
	return slices.Compact(mods)
}

// FuncName implements pcl.Env.
func (p *program) FuncName(id pcl.FuncID) string {
	if f := p.funcs[id]; f != nil {
		return f.fn.Name
	}
	return ""
}

// FuncModule implements pcl.Env.
func (p *program) FuncModule(id pcl.FuncID) string {
	if f := p.funcs[id]; f != nil {
		return f.fn.Module
	}
	return ""
}

// Line implements pcl.Env.
func (p *program) Line(file string, line int) (points []pcl.CodePoint) {
	for _, o := range p.list {
		for _, a := range o.LineAddrs(file, line) {
			if f := p.functionAt(a + o.bias); f != nil {
				points = append(points, pcl.CodePoint{Func: f.id, Offset: int(int64(a + o.bias - f.addr()))})
			}
		}
	}
	return points
}

// Exit implements pcl.Env.
func (p *program) Exit() (ids []pcl.FuncID) {
	for _, n := range libc.Exits() {
		ids = append(ids, p.Named(n)...)
	}
	return distinct(ids)
}
