package image

import (
	"debug/dwarf"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Languages in DW_AT_language whose units are not source files.
const (
	langGo   = 0x16
	langRust = 0x1c

	langAssembler = 0x8001 // DW_LANG_Mips_Assembler, of functions without parameters and results
)

// A unit is one compile unit of DWARF.
type unit struct {
	entry  *dwarf.Entry
	module string
	broad  bool // link-time optimisation made it: its functions come from many source files
}

// unitIndex finds units by address.
type unitIndex struct {
	from      *Object // whose DWARF it is: the object or its debug file
	sections  map[string][]byte
	withLines lazy[*dwarf.Data]
	locations lazy[map[string][]byte]
	defined   lazy[definitions]
	fixed     lazy[map[uint64]variable]

	read   int // addresses of units, with the weight of their roots
	units  []unit
	ranges []unitRange // sorted by lo
}

type unitRange struct {
	lo, hi uint64
	unit   int
}

// find gives the unit that covers addr, nil if there is none.
func (x *unitIndex) find(addr uint64) *unit {
	i := sort.Search(len(x.ranges), func(i int) bool { return x.ranges[i].lo > addr }) - 1
	if i < 0 || addr >= x.ranges[i].hi {
		return nil
	}
	return &x.units[x.ranges[i].unit]
}

// unitIndex reads the root of every compile unit, and nothing below; empty if there is no DWARF.
func (o *Object) unitIndex() *unitIndex {
	x, _ := o.units.get(o.name, func() (*unitIndex, error) {
		if x := o.readUnits(); x != nil {
			return x, nil
		}
		if d := o.debugFile(); d != nil {
			if x := d.readUnits(); x != nil {
				return x, nil
			}
		}
		return &unitIndex{}, nil
	})
	if x == nil {
		return &unitIndex{}
	}
	return x
}

// unitSections are what the roots of units refer to; lineSections is what the line tables need besides.
var (
	unitSections = []string{".debug_info", ".debug_abbrev", ".debug_ranges", ".debug_str", ".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"}
	lineSections = []string{".debug_line"}
)

// dwarfSections reads (and expands, which takes longest) sections side by side. The allowance bounds what they take together.
func (o *Object) dwarfSections(names []string) map[string][]byte {
	out := make([][]byte, len(names))
	var wg sync.WaitGroup
	for i, n := range names {
		wg.Go(func() {
			var err error
			defer guard(&err, o.name)
			if out[i] = o.debugSection(n); n == ".debug_str" || n == ".debug_line_str" {
				cutStrings(out[i])
			}
		})
	}
	wg.Wait()
	m := make(map[string][]byte, len(names))
	for i, n := range names {
		m[n] = out[i]
	}
	return m
}

func newDwarf(sec map[string][]byte) (*dwarf.Data, error) {
	d, err := dwarf.New(sec[".debug_abbrev"], nil, nil, sec[".debug_info"], sec[".debug_line"], nil, sec[".debug_ranges"], sec[".debug_str"])
	if err != nil {
		return nil, err
	}
	for _, n := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} {
		if b := sec[n]; b != nil {
			if err := d.AddSection(n, b); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

func (o *Object) readUnits() *unitIndex {
	sec := o.dwarfSections(unitSections)
	if len(sec[".debug_info"]) == 0 || len(sec[".debug_abbrev"]) == 0 {
		return nil
	}
	if err := credible(sec[".debug_info"], sec[".debug_abbrev"]); err != nil {
		o.leftOut("debug information of %s was not read: %v", o.name, err)
		return nil
	}
	d, err := newDwarf(sec)
	if err != nil {
		return nil
	}
	x := &unitIndex{from: o, sections: sec}
	for _, off := range unitOffsets(sec[".debug_info"]) {
		if x.addUnit(d, off); x.read > maxUnitRanges {
			o.leftOut("debug information of %s was read in part only: its units claim too many addresses", o.name)
			break
		}
	}
	slices.SortStableFunc(x.ranges, func(a, b unitRange) int { return cmp3(a.lo, b.lo) })
	return x
}

// data gives DWARF with line tables, which are read when the first line is asked for; nil if there is none.
func (x *unitIndex) data() *dwarf.Data {
	if x.from == nil {
		return nil
	}
	d, _ := x.withLines.get("DWARF", func() (*dwarf.Data, error) {
		for n, b := range x.from.dwarfSections(lineSections) {
			x.sections[n] = b
		}
		return newDwarf(x.sections)
	})
	return d
}

// unitOffsets walks the unit headers (DWARF 5, section 7.5.1) and gives the offset of every root entry. Going from root to
// root in this way never touches the entries below, which are nearly all of the section.
func unitOffsets(info []byte) (offs []dwarf.Offset) {
	for off := uint64(0); off+16 <= uint64(len(info)) && len(offs) < maxUnits; {
		n, wide, head := uint64(u32(info[off:])), uint64(4), off+4
		if n == 0xffffffff {
			n, wide, head = u64(info[off+4:]), 8, off+12
		}
		if sub(info, head, n) == nil || n < 8 {
			break
		}
		root := head + 2 + wide + 1
		if version := u16(info[head:]); version >= 5 {
			root++
			switch info[head+2] { // DW_UT_*
			case 4, 5: // skeleton, split
				root += 8
			case 2, 6: // type units hold no code
				root = 0
			}
		}
		if root != 0 && root < head+n {
			offs = append(offs, dwarf.Offset(root))
		}
		off = head + n
	}
	return offs
}

func (x *unitIndex) addUnit(d *dwarf.Data, off dwarf.Offset) {
	r := d.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil || e == nil || (e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagSkeletonUnit) {
		return
	}
	ranges, err := d.Ranges(e)
	x.read += len(ranges) + 4*len(e.Field) + textOf(e)/8
	if err != nil || len(ranges) == 0 {
		return
	}
	u := unit{entry: e}
	u.module, u.broad = moduleOf(e)
	for _, r := range ranges {
		if r[0] != 0 && r[1] > r[0] {
			x.ranges = append(x.ranges, unitRange{r[0], r[1], len(x.units)})
		}
	}
	x.units = append(x.units, u)
}

// moduleOf names the module of a unit: the base name of its source file, its Go package, or for a Rust library its crate.
func moduleOf(e *dwarf.Entry) (name string, broad bool) {
	s, _ := e.Val(dwarf.AttrName).(string)
	if s == "<artificial>" || s == "" {
		return "", true
	}
	lang, _ := e.Val(dwarf.AttrLanguage).(int64)
	switch lang {
	case langGo:
		return limit(s), false
	case langRust:
		s, _, _ = strings.Cut(s, "/@/")
		if dir, ok := strings.CutSuffix(s, "/src/lib.rs"); ok && dir != "" {
			s = dir
		}
	}
	return limit(path.Base(s)), false
}

// assignModules fills in Module from the units, or else the name of the object. A debug file that lies beside a stripped
// object does not count: whether a machine has libc's installed must not change what libc's functions are called, and
// reading it would be the larger part of an attach.
func (o *Object) assignModules(funcs []*Function) {
	if o.section(".debug_info") == nil {
		for _, f := range funcs {
			if f.Module == "" {
				f.Module = o.name
			}
		}
		return
	}
	x := o.unitIndex()
	for _, f := range funcs {
		if u := x.find(f.Addr); u != nil {
			f.Module = u.module
			if u.broad {
				f.Module = o.fileOf(x, u, f.Addr)
			}
		}
		if f.Module == "" {
			f.Module = o.name
		}
	}
}

// fileOf is the base name of the source file of an address by the line table.
func (o *Object) fileOf(x *unitIndex, u *unit, addr uint64) string {
	t := o.lines.table(x, u)
	if r := t.find(addr); r != nil {
		return path.Base(t.files[r.file])
	}
	return ""
}
