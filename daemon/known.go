package daemon

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"culprit/daemon/image"
	"culprit/pcl"
)

// The functions of a target that somebody has asked for. A server of many processes maps the same files in each of them: what
// is the same for all, the names and where they lead, is made once; what belongs to one is made when it is first named.

// know makes functions of an object known and returns their ids, in order of address.
func (t *target) know(o *object, fns []*image.Function) (ids []pcl.FuncID) {
	for _, fn := range fns {
		id := pcl.FuncID(fn.Addr + o.bias)
		if t.funcs[id] == nil {
			t.funcs[id] = &function{id: id, obj: o, fn: fn}
		}
		ids = append(ids, id)
	}
	return ids
}

// knowAt makes the functions with these entries known.
func (t *target) knowAt(ids []pcl.FuncID) {
	for _, id := range ids {
		if t.funcs[id] != nil {
			continue
		}
		o := t.objectAt(uint64(id))
		if o == nil {
			continue
		}
		fns := o.Functions()
		at := uint64(id) - o.bias
		if i := sort.Search(len(fns), func(i int) bool { return fns[i].Addr >= at }); i < len(fns) && fns[i].Addr == at {
			t.know(o, fns[i:i+1])
		}
	}
}

// listAll makes all functions known.
func (t *target) listAll() {
	for _, o := range t.objects {
		t.know(o, o.Functions())
	}
}

// A nameIndex leads from modules and the names of functions to their entries. It is the same for all processes that map the same
// files at the same addresses, as forked children do; nobody changes it.
type nameIndex map[string]map[string][]pcl.FuncID

// layout names what a target maps, and where.
func (t *target) layout() string {
	var b strings.Builder
	for _, o := range t.objects {
		fmt.Fprintf(&b, "%x:%x+%x ", o.key.dev, o.key.inode, o.bias)
	}
	return b.String()
}

// maxIndexes bounds how many layouts have their index kept; of more of them each target makes its own.
const maxIndexes = 64

// names indexes all functions by module and name.
func (t *target) names() nameIndex {
	if t.index != nil {
		return t.index
	}
	layout := t.layout()
	t.index, t.items = t.d.indexes[layout], nil
	if t.index == nil {
		t.index = t.makeIndex()
		if t.d.indexes != nil && len(t.d.indexes) < maxIndexes {
			t.d.indexes[layout] = t.index
		}
	}
	return t.index
}

func (t *target) makeIndex() nameIndex {
	index := nameIndex{}
	for _, o := range t.objects {
		for _, fn := range o.Functions() {
			index.add(pcl.FuncID(fn.Addr+o.bias), fn)
		}
	}
	for _, byName := range index {
		for _, list := range byName {
			slices.Sort(list)
		}
	}
	return index
}

func (x nameIndex) add(id pcl.FuncID, fn *image.Function) {
	byName := x[fn.Module]
	if byName == nil {
		byName = map[string][]pcl.FuncID{}
		x[fn.Module] = byName
	}
	for _, n := range append([]string{fn.Name, fn.Linkage}, fn.Aliases...) {
		if list := byName[n]; n != "" && !slices.Contains(list, id) {
			byName[n] = append(list, id)
		}
	}
}
