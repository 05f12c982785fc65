package image

import (
	"debug/gosym"
	"slices"
	"strings"
)

// addGo lists the functions of a stripped Go program from its function table (.gopclntab), which the run-time needs and strip
// leaves.
func (b *tableBuilder) addGo() {
	if !b.o.isGo || b.o.section(".symtab") != nil {
		return
	}
	tab, text := b.o.section(".gopclntab"), b.o.section(".text")
	if tab == nil {
		tab = b.o.section(".data.rel.ro.gopclntab")
	}
	if tab == nil || text == nil {
		return
	}
	funcs := goFunctions(tab.bytes(), text.addr)
	for _, f := range funcs {
		if len(b.table.funcs) >= maxSymbols || b.o.execAt(f.Addr) == nil || b.table.at(f.Addr) != nil {
			continue
		}
		f.Size = min(f.Size, b.o.execAt(f.Addr).end()-f.Addr)
		b.table.funcs = append(b.table.funcs, f)
	}
	slices.SortStableFunc(b.table.funcs, func(x, y *Function) int { return cmp3(x.Addr, y.Addr) })
	b.table.index()
}

// goFunctions reads the table; a damaged one gives what was read before the damage, or nothing.
func goFunctions(tab []byte, text uint64) (funcs []*Function) {
	defer func() { _ = recover() }()
	t, err := gosym.NewTable(nil, gosym.NewLineTable(tab, text))
	if err != nil {
		return nil
	}
	for i := range t.Funcs {
		f := &t.Funcs[i]
		if f.End <= f.Entry || f.Name == "" {
			continue
		}
		name := limit(f.Name)
		funcs = append(funcs, &Function{Linkage: name, Addr: f.Entry, Size: f.End - f.Entry, Named: true, Module: goPackage(name), Refuse: refusalOf(name)})
	}
	return funcs
}

// goPackage is the package path in the name of a Go function: "net/http" of "net/http.(*Server).Serve".
func goPackage(name string) string {
	slash := strings.LastIndexByte(name, '/') + 1
	if i := strings.IndexByte(name[slash:], '['); i >= 0 { // type arguments hold paths of their own
		name = name[:slash+i]
	}
	if i := strings.IndexByte(name[slash:], '.'); i > 0 {
		return name[:slash+i]
	}
	return ""
}
