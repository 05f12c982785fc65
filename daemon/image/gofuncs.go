package image

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"culprit/daemon/image/elffile"
)

// addGo lists the functions of a stripped Go program from its function table (.gopclntab), which the run-time needs and strip
// leaves.
func (b *tableBuilder) addGo() {
	if !b.o.isGo || b.o.elf.Section(".symtab") != nil {
		return
	}
	tab, text := b.o.elf.Section(".gopclntab"), b.o.elf.Section(".text")
	if tab == nil {
		tab = b.o.elf.Section(".data.rel.ro.gopclntab")
	}
	if tab == nil || text == nil {
		return
	}
	funcs := goFunctions(tab.Bytes(), text.Addr)
	for _, f := range funcs {
		if len(b.table.funcs) >= maxSymbols || b.o.elf.ExecAt(f.Addr) == nil || b.table.at(f.Addr) != nil {
			continue
		}
		f.Size = min(f.Size, b.o.elf.ExecAt(f.Addr).End()-f.Addr)
		b.table.funcs = append(b.table.funcs, f)
	}
	slices.SortStableFunc(b.table.funcs, func(x, y *Function) int { return cmp.Compare(x.Addr, y.Addr) })
	b.table.index()
}

// Magic numbers of .gopclntab, by the version of Go that began to write it (debug/gosym, and runtime/symtab.go).
const (
	goMagic12  = 0xfffffffb
	goMagic116 = 0xfffffffa
	goMagic118 = 0xfffffff0
	goMagic120 = 0xfffffff1
)

// A goTable is .gopclntab: n pairs of an address and the place of a description in data, which says where in names the name is.
type goTable struct {
	n           uint64
	pairs       []byte
	data, names []byte
	field       uint64 // size of each half of a pair
	base        uint64 // of the addresses
}

// goFunctions reads the table; a damaged one gives what was read before the damage, or nothing. It is not left to debug/gosym, which copies
// a name for each function: all may have the same long one, or one that ends where another does.
func goFunctions(tab []byte, text uint64) (funcs []*Function) {
	t, ok := openGoTable(tab, text)
	room := elffile.RoomForNames(tab)
	for i := uint64(0); ok && i < t.n && i < maxSymbols; i++ {
		entry, end, name := t.function(i)
		if end <= entry || name == "" {
			continue
		}
		if !room.Take(name) {
			break
		}
		name = elffile.ValidText(name)
		funcs = append(funcs, &Function{Linkage: name, Addr: entry, Size: end - entry, Named: true, Module: goPackage(name), Refuse: refusalOf(name)})
	}
	return funcs
}

// openGoTable reads the head of the table.
func openGoTable(tab []byte, text uint64) (t goTable, ok bool) {
	if len(tab) < 16 || tab[7] != 8 { // size of pointers
		return t, false
	}
	part := func(word uint64) []byte {
		if b := elffile.Sub(tab, 8+8*word, 8); b != nil && elffile.U64(b) < uint64(len(tab)) {
			return tab[elffile.U64(b):]
		}
		return nil
	}
	t.n, t.field = elffile.U64(tab[8:]), 8
	switch elffile.U32(tab) {
	case goMagic12:
		t.names, t.data, t.pairs = tab, tab, tab[16:]
	case goMagic116:
		t.names, t.data = part(2), part(6)
		t.pairs = t.data
	case goMagic118, goMagic120:
		t.names, t.data, t.field, t.base = part(3), part(7), 4, text
		t.pairs = t.data
	}
	return t, t.pairs != nil && t.names != nil
}

// half is one half of a pair; the first of the pair behind the last one ends the last function.
func (t *goTable) half(i uint64) (v uint64, ok bool) {
	r := elffile.Reader{Rest: elffile.Sub(t.pairs, i*t.field, t.field)}
	v = r.Uint(int(t.field))
	return v, !r.Bad
}

// function is the i-th function; its name is "" if there is none.
func (t *goTable) function(i uint64) (entry, end uint64, name string) {
	entry, ok1 := t.half(2 * i)
	off, ok2 := t.half(2*i + 1)
	end, ok3 := t.half(2*i + 2)
	at := elffile.Sub(t.data, off+t.field, 4)
	if !ok1 || !ok2 || !ok3 || at == nil {
		return 0, 0, ""
	}
	return t.base + entry, t.base + end, elffile.StringAt(t.names, elffile.U32(at))
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

// IsGoCode reports whether a function of the object may run on a goroutine's stack. Go's linker puts all code that the Go compiler and
// assembler made between two symbols, and the C code of a cgo program behind them; a stripped program does not say where that is, and all of
// it counts.
func (o *Object) IsGoCode(f *Function) bool {
	if !o.isGo {
		return false
	}
	text := o.functions().goText
	return text.Lo >= text.Hi || f.Addr < text.Hi && f.Addr+f.Size > text.Lo
}

// MayBeGoAt reports whether code of Go is at an address. It makes no table: until somebody needs one, all code of such an object counts.
func (o *Object) MayBeGoAt(addr uint64) bool {
	if !o.isGo || !o.table.Done() {
		return o.isGo
	}
	text := o.functions().goText
	return text.Lo >= text.Hi || text.Contains(addr)
}

// goHeads are the first bytes of Go's function table, from Go 1.2, 1.16, 1.18 and 1.20 on (debug/gosym): magic, two zeros, the least
// instruction, the size of a pointer.
var goHeads = [][]byte{
	{0xFB, 0xFF, 0xFF, 0xFF, 0, 0, 1, 8}, {0xFA, 0xFF, 0xFF, 0xFF, 0, 0, 1, 8},
	{0xF0, 0xFF, 0xFF, 0xFF, 0, 0, 1, 8}, {0xF1, 0xFF, 0xFF, 0xFF, 0, 0, 1, 8},
}

// linkedByGo reports whether Go's tool chain linked the object: by the sections that it makes, or, where there are no sections, by the
// table of functions that every Go program carries.
func (o *Object) linkedByGo() bool {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo"} {
		if o.elf.Section(name) != nil {
			return true
		}
	}
	for _, s := range o.elf.Sections() {
		if s.Index >= 0 {
			return false
		}
		b := s.Bytes()
		for _, head := range goHeads {
			if bytes.Contains(b, head) {
				return true
			}
		}
	}
	return false
}
