package image

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"sort"
	"strings"

	"culprit/daemon/image/unwind"
)

// A Function is a piece of code that is entered at its first byte. It does not change once it is listed.
type Function struct {
	Name    string   // what people see: demangled, unique within Module (a suffix "#2", "@VERSION" where needed)
	Linkage string   // symbol name without version, "" if there is no symbol
	Aliases []string // other symbol names of the same address
	Module  string   // base name of the compile unit's source file, a Go package, or else the object's name
	Addr    uint64   // first byte
	Size    uint64   // bytes from Addr; at least 1
	Parts   []Range  // further ranges known by symbol: the cold parts
	Named   bool     // false for "[object+0x1234]"
	Refuse  string   // why it is never instrumented, "" if it may be

	maybeFragment bool // nameless and perhaps only a part of another function
	coldSymbol    bool
	bare          bool // its frame at the first byte is not that of a function just called
}

// Contains reports whether addr lies in the function or in one of its parts.
func (f *Function) Contains(addr uint64) bool {
	if addr-f.Addr < f.Size {
		return true
	}
	for _, p := range f.Parts {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// ranges lists where the code of f is, as far as symbols say.
func (f *Function) ranges() []Range {
	return append([]Range{{f.Addr, f.Addr + f.Size}}, f.Parts...)
}

// functionTable holds what Functions, FunctionAt and Named answer from.
type functionTable struct {
	funcs  []*Function
	spans  []span // sorted by lo
	maxHi  []uint64
	byName nameIndex
	labels []uint64 // untyped symbols in code, sorted
	goText Range    // empty if that is not known
}

// A span is one contiguous range of one function.
type span struct {
	lo, hi uint64
	fn     *Function
}

// maxNested bounds the search for a span that holds others; only hostile files nest deeper.
const maxNested = 256

// at finds the innermost span that covers addr.
func (t *functionTable) at(addr uint64) *span {
	i := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].lo > addr }) - 1
	for last := i - maxNested; i >= 0 && i > last && t.maxHi[i] > addr; i-- {
		if addr < t.spans[i].hi {
			return &t.spans[i]
		}
	}
	return nil
}

// startsAt reports whether a function (or part) starts at addr.
func (t *functionTable) startsAt(addr uint64) *Function {
	i := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].lo >= addr })
	if i < len(t.spans) && t.spans[i].lo == addr {
		return t.spans[i].fn
	}
	return nil
}

func (t *functionTable) index() {
	t.spans = t.spans[:0]
	for _, f := range t.funcs {
		for _, r := range f.ranges() {
			t.spans = append(t.spans, span{r.Lo, r.Hi, f})
		}
	}
	slices.SortFunc(t.spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	t.maxHi = make([]uint64, len(t.spans))
	var hi uint64
	for i, s := range t.spans {
		hi = max(hi, s.hi)
		t.maxHi[i] = hi
	}
}

// Functions lists the functions sorted by Addr: those that symbols name, and those that only call frame information or the Go
// function table knows. The slice and the functions belong to the object and must not be changed.
// A file whose symbols cannot be read has none.
func (o *Object) Functions() []*Function { return o.functions().funcs }

func (o *Object) functions() *functionTable {
	t, err := o.table.Get(o.elf.Name(), o.buildTable)
	if t == nil || err != nil {
		return &functionTable{}
	}
	return t
}

// Err is the error that kept the functions from being listed, nil if they are.
func (o *Object) Err() error {
	o.functions()
	return o.table.Err()
}

// FunctionAt gives the function whose code holds vaddr, nil if there is none. A cold part belongs to its function; where only
// the code shows which one that is, the first such question costs a pass over all code of the object (27 ms for redis-server).
func (o *Object) FunctionAt(vaddr uint64) *Function {
	s := o.functions().at(vaddr)
	if s == nil {
		return nil
	}
	if s.fn.maybeFragment || s.fn.coldSymbol {
		if owner := o.xref().owner[s.fn]; owner != nil {
			return owner
		}
	}
	return s.fn
}

// nameless is what people see of an address that no function covers.
func (o *Object) nameless(vaddr uint64) string { return fmt.Sprintf("[%s+%#x]", o.elf.Name(), vaddr) }

// group is the symbols of one address while the table is built.
type group struct {
	syms []symbol // most public first
	fn   *Function
	cold bool
}

// tableBuilder turns symbols and frame descriptions into functions.
type tableBuilder struct {
	o      *Object
	groups []*group
	table  *functionTable
}

func (o *Object) buildTable() (*functionTable, error) {
	// Expanding DWARF takes longest; whoever waits for it below shares the result.
	if o.dwarf.Own() {
		go o.dwarf.Units()
	}
	set, err := o.readSymbols()
	if err != nil {
		return nil, err
	}
	slices.Sort(set.labels)
	b := &tableBuilder{o: o, table: &functionTable{labels: slices.Compact(set.labels), goText: set.goText}}
	b.group(set.funcs)
	b.size()
	b.attachCold()
	for _, g := range b.groups {
		if g.fn != nil {
			b.table.funcs = append(b.table.funcs, g.fn)
		}
	}
	b.table.index()
	b.addGo()
	b.addFrames()
	b.refuseNested()
	b.name()
	b.indexNames()
	return b.table, nil
}

func (b *tableBuilder) group(syms []symbol) {
	slices.SortFunc(syms, func(x, y symbol) int { return cmp.Compare(x.addr, y.addr) })
	b.groups = make([]*group, 0, len(syms))
	for i := 0; i < len(syms); {
		j := i + 1
		for j < len(syms) && syms[j].addr == syms[i].addr {
			j++
		}
		b.groups = append(b.groups, newGroup(syms[i:j]))
		i = j
	}
}

func newGroup(syms []symbol) *group {
	slices.SortStableFunc(syms, func(x, y symbol) int {
		rx, ry := rankOf(&x), rankOf(&y)
		switch {
		case rx.less(ry):
			return -1
		case ry.less(rx):
			return 1
		}
		return strings.Compare(x.name, y.name)
	})
	g := &group{syms: syms, cold: true}
	f := &Function{Addr: syms[0].addr, Linkage: syms[0].name, Named: true}
	for _, s := range syms {
		f.Size = max(f.Size, s.size)
		g.cold = g.cold && coldBase(s.name) != ""
		if s.name != f.Linkage && !slices.Contains(f.Aliases, s.name) {
			f.Aliases = append(f.Aliases, s.name)
		}
		if why := refusalOf(s.name); why != "" && f.Refuse == "" {
			f.Refuse = why
		}
		if s.ifunc {
			f.Refuse = whyIfunc
		}
	}
	g.fn = f
	return g
}

// size completes sizes that the symbols leave open, from frame information or else up to what follows.
func (b *tableBuilder) size() {
	for i, g := range b.groups {
		f := g.fn
		end := b.o.elf.ExecAt(f.Addr).End()
		if f.Size == 0 {
			next := end
			if i+1 < len(b.groups) {
				next = min(next, b.groups[i+1].fn.Addr)
			}
			f.Size = next - f.Addr
			if d := b.o.frames.DescribedAt(f.Addr); d != nil {
				f.Size = min(f.Size, d.Hi-f.Addr)
			}
		}
		f.Size = min(f.Size, end-f.Addr)
	}
}

// attachCold gives cold parts to their functions. A local name is unique within a compile unit only.
func (b *tableBuilder) attachCold() {
	wanted := map[string]bool{} // names of functions that have a cold part
	for _, g := range b.groups {
		if g.cold {
			wanted[coldBase(g.syms[0].name)] = true
		}
	}
	if len(wanted) == 0 {
		return
	}
	type local struct {
		unit int32
		name string
	}
	locals, names := map[local]*Function{}, map[string]*Function{}
	ambiguous := map[string]bool{}
	for _, g := range b.groups {
		if g.cold {
			continue
		}
		for _, s := range g.syms {
			if !wanted[s.name] {
				continue
			}
			if s.bind == bindLocal {
				locals[local{s.unit, s.name}] = g.fn
			}
			if other := names[s.name]; other != nil && other != g.fn {
				ambiguous[s.name] = true
			}
			names[s.name] = g.fn
		}
	}
	for _, g := range b.groups {
		if !g.cold {
			continue
		}
		base := coldBase(g.syms[0].name)
		owner := locals[local{g.syms[0].unit, base}]
		if owner == nil && !ambiguous[base] {
			owner = names[base]
		}
		if owner == nil {
			g.fn.coldSymbol, g.fn.Refuse = true, whyFragment
			continue
		}
		owner.Parts = append(owner.Parts, Range{g.fn.Addr, g.fn.Addr + g.fn.Size})
		g.fn = nil
	}
}

// addFrames adds a nameless function for every frame description that no symbol covers.
func (b *tableBuilder) addFrames() {
	fdes := b.o.frames.Described()
	n := len(b.table.funcs)
	for i := range fdes {
		if f := b.fromFrame(&fdes[i]); f != nil {
			b.table.funcs = append(b.table.funcs, f)
		}
	}
	if len(b.table.funcs) > n {
		slices.SortStableFunc(b.table.funcs, func(x, y *Function) int { return cmp.Compare(x.Addr, y.Addr) })
		b.table.funcs = slices.CompactFunc(b.table.funcs, func(x, y *Function) bool { return x.Addr == y.Addr })
		b.table.index()
	}
}

func (b *tableBuilder) fromFrame(d *unwind.FDE) *Function {
	sec := b.o.elf.ExecAt(d.Lo)
	if sec == nil || sec.IsPLT() || b.table.at(d.Lo) != nil {
		return nil
	}
	hi := min(d.Hi, sec.End())
	// __restore_rt's description starts one byte before the symbol, for unwinders that look up the address before.
	if i := sort.Search(len(b.table.spans), func(i int) bool { return b.table.spans[i].lo >= d.Lo }); i < len(b.table.spans) && b.table.spans[i].lo < hi {
		return nil
	}
	f := &Function{Addr: d.Lo, Size: hi - d.Lo, maybeFragment: d.Lo%16 != 0}
	plain, outermost, err := d.Entry()
	switch {
	case d.Signal():
		f.Refuse, f.maybeFragment = whySignal, false
	case err != nil:
		f.Refuse = "its call frame information is damaged"
	case outermost:
		f.Refuse = whyStart
	case !plain:
		f.Refuse, f.maybeFragment, f.bare = whyFragment, true, true
	}
	return f
}

// refuseNested refuses functions that start inside another one: two plans for the same bytes would fight.
func (b *tableBuilder) refuseNested() {
	var outer *Function
	for _, f := range b.table.funcs {
		if outer != nil && f.Addr < outer.Addr+outer.Size {
			if f.Refuse == "" {
				f.Refuse = whyNested
			}
			continue
		}
		outer = f
	}
}

// name gives modules and display names, unique within their module.
func (b *tableBuilder) name() {
	b.o.assignModules(b.table.funcs)
	seen := make(map[uint64]int32, len(b.table.funcs)) // by what a module and a name make: a number has nothing that is to be collected
	versions := b.oldVersions()
	budget := int(b.o.elf.Size())*4 + 64<<20 // bytes of demangled names: a hostile table may repeat a long one
	for i, f := range b.table.funcs {
		if i%oftenEnough == 0 && b.o.elf.Ended() != nil {
			return
		}
		f.Name = f.Linkage
		switch {
		case !f.Named:
			f.Name = b.o.nameless(f.Addr)
		case versions[f.Addr] != "":
			f.Name += "@" + versions[f.Addr]
		case budget > 0:
			f.Name = b.o.demangled(f.Linkage)
		}
		budget -= len(f.Name)
		k := maphash.String(nameSeed, f.Module)*31 ^ maphash.String(nameSeed, f.Name)
		seen[k]++
		if n := seen[k]; n > 1 {
			f.Name = fmt.Sprintf("%s#%d", f.Name, n)
		}
	}
}

// oldVersions maps addresses whose only public names are of versions that are not the default to the version.
func (b *tableBuilder) oldVersions() map[uint64]string {
	m := map[uint64]string{}
	for _, g := range b.groups {
		if g.fn != nil && g.syms[0].old {
			m[g.syms[0].addr] = g.syms[0].version
		}
	}
	return m
}
