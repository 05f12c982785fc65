package daemon

import (
	"cmp"
	"strings"

	"culprit/daemon/image"
	"culprit/pcl"
)

// The functions of a target that somebody has asked for. A server of many processes maps the same files in each of them: what
// is the same for all, the names and where they lead, is made once; what belongs to one is made when it is first named.

// know makes functions of an object known and returns their ids, in order of address. Those that are not mapped are left out: a program may map
// a part of a file a second time (node does so with V8's built-in functions).
func (t *target) know(o *object, fns []*image.Function) (ids []pcl.FuncID) {
	for _, fn := range fns {
		if !o.holds(fn.Addr + o.bias) {
			continue
		}
		id := pcl.FuncID(fn.Addr + o.bias)
		if t.funcs[id] == nil {
			t.funcs[id] = &function{id: id, obj: o, fn: fn}
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

// get must not be changed.
func (f *finder) get(t *target, n funcName) []pcl.FuncID {
	if ids, ok := f.ids[n]; ok && f.changes == t.changes {
		return ids
	}
	if f.ids == nil || f.changes != t.changes || len(f.ids) >= maxFound {
		f.changes, f.ids = t.changes, map[funcName][]pcl.FuncID{}
	}
	ids := t.find(n)
	f.ids[n] = ids
	return ids
}

// find makes the functions of a name known, in order of address.
func (t *target) find(n funcName) (ids []pcl.FuncID) {
	for _, o := range t.objects {
		if n.module == "" {
			ids = append(ids, t.know(o, o.Named(n.function))...)
		} else {
			ids = append(ids, t.know(o, o.InModule(n.module, n.function))...)
		}
	}
	return distinct(ids)
}
