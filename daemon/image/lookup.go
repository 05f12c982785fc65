package image

import (
	"bytes"
	"cmp"
	"debug/elf"
	"hash/maphash"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"culprit/daemon/image/elffile"
)

// Most of what a process maps is never asked for a function: a server has dozens of libraries, and runs in three. To list the functions of
// one takes milliseconds; that it does not have what is looked for is known for less.

// hashes are those of names.
type hashes map[uint64]struct{}

// names are the names of functions in an object's symbol tables: what is not among those that it defines it does not have, and what it takes
// from other objects is among those that it imports.
type names struct{ defined, imported hashes }

var nameSeed = maphash.MakeSeed()

func (n hashes) has(name string) bool {
	_, ok := n[maphash.String(nameSeed, name)]
	return ok
}

// Defines reports whether the object has a function of that linkage name, as far as its symbol tables say.
func (o *Object) Defines(name string) bool { return o.symbolNames().defined.has(name) }

// Imports reports whether the object takes a function of that linkage name from another one, as far as its symbol tables say.
func (o *Object) Imports(name string) bool { return o.symbolNames().imported.has(name) }

// MayImport is a quick answer to that: false only if the name is not among those of the dynamic symbols.
func (o *Object) MayImport(name string) bool {
	s := o.elf.Section(".dynstr")
	return s == nil || bytes.Contains(s.Bytes(), []byte("\x00"+name+"\x00"))
}

// Named finds functions by linkage name (without version), alias, demangled or display name. Of several versions of a symbol
// the default comes first, otherwise they are sorted by Addr.
func (o *Object) Named(name string) []*Function {
	if !o.table.Done() && !o.isGo && !o.mayBeCalled(name) {
		return nil
	}
	t := o.functions()
	return t.byName.of(o, name)
}

// isLinkage reports whether a name can be found as it is in a symbol table only: what is demangled has parameters or a path, and what was
// made unique another sign.
func isLinkage(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '.' && r != '$' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// mayBeCalled is a quick answer to whether a function of an object that is not of Go has a name: false only if none has.
func (o *Object) mayBeCalled(name string) bool {
	switch {
	case isLinkage(name):
		return o.symbolNames().defined.has(name)
	case strings.Contains(name, ".(*"), strings.Contains(name, "/") && !strings.Contains(name, "::") && !strings.Contains(name, "operator"):
		return false // a method, or the path of a package, as Go writes them
	}
	return o.spells(lastPart(name))
}

var identifier = regexp.MustCompile(`::([A-Za-z][A-Za-z0-9_]*)$`)

// lastPart is what stands behind the path in the demangled name of a function, as it stands in the linkage name of C++ and of Rust: behind its length.
// It is "" where that is not known: operators, what has parameters, and what is in std, which has abbreviations of its own.
func lastPart(name string) string {
	m := identifier.FindStringSubmatch(name)
	if m == nil || m[1] == "operator" || strings.HasPrefix(name, "std::") {
		return ""
	}
	return strconv.Itoa(len(m[1])) + m[1]
}

// spells reports whether a part of a linkage name occurs in a symbol table, or may.
func (o *Object) spells(part string) bool {
	if known, ok := o.parts.Load(part); ok {
		return known.(bool)
	}
	found := part == ""
	err := o.eachTable(func(from *elffile.File, s *elffile.Section) error {
		strs := from.SectionByIndex(s.Link)
		found = found || strs != nil && bytes.Contains(strs.Bytes(), []byte(part))
		return nil
	})
	found = found || err != nil
	o.parts.Store(part, found)
	return found
}

// symbolNames is empty where the tables cannot be read.
func (o *Object) symbolNames() names {
	n, err := o.names.Get(o.elf.Name(), func() (names, error) {
		n := names{hashes{}, hashes{}}
		return n, o.eachTable(func(from *elffile.File, s *elffile.Section) error { return o.addNames(n, from, s) })
	})
	if err != nil {
		return names{}
	}
	return n
}

// addNames adds the names of the functions in a table.
func (o *Object) addNames(n names, from *elffile.File, s *elffile.Section) error {
	strs := from.SectionByIndex(s.Link)
	if strs == nil {
		return nil
	}
	str := strs.Bytes()
	room := elffile.RoomForNames(str)
	for tab := s.Bytes(); len(tab) >= symSize && len(n.defined)+len(n.imported) < maxSymbols; tab = tab[symSize:] {
		typ, in := elf.ST_TYPE(tab[4]), n.defined
		if elf.SectionIndex(elffile.U16(tab[6:])) == elf.SHN_UNDEF {
			in = n.imported
		}
		if typ != elf.STT_FUNC && typ != elf.STT_GNU_IFUNC {
			continue
		}
		name := cleanName(elffile.StringAt(str, elffile.U32(tab)))
		if !room.Take(name) {
			return nil // which is told where the functions are listed
		}
		in[maphash.String(nameSeed, name)] = struct{}{}
	}
	return nil
}

// HasNames reports whether symbols name any function.
func (o *Object) HasNames() bool {
	if len(o.symbolNames().defined) > 0 {
		return true
	}
	return slices.ContainsFunc(o.Functions(), func(f *Function) bool { return f.Named })
}

// oneModule reports whether all functions belong to the module that is called like the object.
func (o *Object) oneModule() bool { return !o.dwarf.Own() && !o.isGo }

// ModuleFunctions lists the functions of a module by Addr. It must not be changed.
func (o *Object) ModuleFunctions(module string) []*Function {
	if o.oneModule() {
		if module == o.elf.Name() {
			return o.Functions()
		}
		return nil
	}
	return o.modules()[module]
}

// InModule finds the functions of a module that are called so: by display name, linkage name or alias, sorted by Addr. If none is, it finds those
// of whose names nothing was left out but parameters, and what compilers add to copies.
func (o *Object) InModule(module, name string) (fns []*Function) {
	if o.oneModule() && module != o.elf.Name() {
		return nil
	}
	for _, f := range o.Named(name) {
		if f.Module == module && (f.Name == name || f.Linkage == name || slices.Contains(f.Aliases, name)) {
			fns = append(fns, f)
		}
	}
	if len(fns) == 0 {
		for _, m := range o.meantIn(module, name) {
			if m.Fit == FitWhole && !m.Fn.OldVersion() {
				fns = append(fns, m.Fn)
			}
		}
	}
	slices.SortFunc(fns, func(a, b *Function) int { return cmp.Compare(a.Addr, b.Addr) })
	return fns
}

// Modules names the modules that functions belong to.
func (o *Object) Modules() (names []string) {
	if o.oneModule() && len(o.Functions()) > 0 {
		return []string{o.elf.Name()}
	}
	for m := range o.modules() {
		names = append(names, m)
	}
	return names
}

// modules are the functions by their module.
func (o *Object) modules() map[string][]*Function {
	m, _ := o.byModule.Get(o.elf.Name(), func() (map[string][]*Function, error) {
		m := map[string][]*Function{}
		for _, f := range o.Functions() {
			m[f.Module] = append(m[f.Module], f)
		}
		return m, nil
	})
	return m
}

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
