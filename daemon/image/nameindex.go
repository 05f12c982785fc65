package image

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
)

// A nameIndex finds the functions of a name. It holds numbers only: a map of names takes a hundred bytes and some collections of garbage more for each,
// and a program may have a million.
type nameIndex struct {
	funcs   []*Function
	entries []nameEntry // sorted
}

// A nameEntry says that a name may be that of a function: the order of the functions of a name is that of their entries.
type nameEntry struct {
	hash  uint64
	order uint32 // versions that new programs link against come first, otherwise by address
	fn    uint32 // index
}

// of lists the functions that are called so, each once.
func (x *nameIndex) of(o *Object, name string) (fns []*Function) {
	h := maphash.String(nameSeed, name)
	i, _ := slices.BinarySearchFunc(x.entries, h, func(e nameEntry, h uint64) int { return cmp.Compare(e.hash, h) })
	for ; i < len(x.entries) && x.entries[i].hash == h; i++ {
		f := x.funcs[x.entries[i].fn]
		again := len(fns) > 0 && fns[len(fns)-1] == f
		if !again && o.isCalled(f, name) {
			fns = append(fns, f)
		}
	}
	return fns
}

// isCalled reports whether a function has a name: two names may have one hash.
func (o *Object) isCalled(f *Function, name string) bool {
	found := false
	o.eachName(f, func(n string) { found = found || n == name })
	return found
}

// eachName gives all names of a function: for people, also without what made it unique, of the linker, and of its aliases.
func (o *Object) eachName(f *Function, visit func(name string)) {
	visit(f.Name)
	if f.Linkage != f.Name {
		visit(f.Linkage)
	}
	if i := strings.LastIndexByte(f.Name, '#'); i > 0 {
		visit(f.Name[:i])
	}
	for _, a := range f.Aliases {
		visit(a)
		if mangled(a) && len(f.Aliases) <= 64 {
			visit(o.demangled(a))
		}
	}
}

func (b *tableBuilder) indexNames() {
	x := nameIndex{funcs: b.table.funcs, entries: make([]nameEntry, 0, 2*len(b.table.funcs))}
	old := b.oldVersions()
	for pass := range 2 {
		for i, f := range b.table.funcs {
			if (old[f.Addr] != "") != (pass == 1) {
				continue
			}
			order := uint32(pass*len(b.table.funcs) + i)
			b.o.eachName(f, func(name string) {
				if name != "" {
					x.entries = append(x.entries, nameEntry{maphash.String(nameSeed, name), order, uint32(i)})
				}
			})
		}
	}
	slices.SortFunc(x.entries, func(a, b nameEntry) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.order, b.order)) })
	b.table.byName = x
}
