package debuginfo

import (
	"cmp"
	"debug/dwarf"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"culprit/daemon/image/elffile"
	"culprit/daemon/image/lazy"
)

// Languages in DW_AT_language whose units are not source files.
const (
	LangGo   = 0x16
	langRust = 0x1c

	LangAssembler = 0x8001 // DW_LANG_Mips_Assembler, of functions without parameters and results
)

// Name is that of the module that the unit is, for people.
func (u *Unit) Name() string { return u.module }

// An Info is the debug information of one file.
type Info struct {
	file    *elffile.File
	units   lazy.Value[*Units]
	inlines lazy.Value[*inlineCounts]
	lines   lineCache
}

// New is the debug information of a file, or of its separate debug file. It is read when it is first asked for.
func New(file *elffile.File) *Info { return &Info{file: file} }

// Own reports whether there is DWARF that counts as the file's own: see elffile.File.DescribesItself. There may be some that does not.
func (n *Info) Own() bool { return n.file.DescribesItself() }

// A Unit is one compile unit of DWARF.
type Unit struct {
	Entry  *dwarf.Entry
	module string
	broad  bool // link-time optimisation made it: its functions come from many source files
}

// Units are the compile units of a file, found by address.
type Units struct {
	from      *elffile.File // whose DWARF it is: the object or its debug file
	sections  map[string][]byte
	withLines lazy.Value[*dwarf.Data]

	read   int // addresses of units, with the weight of their roots
	units  []Unit
	ranges []unitRange // sorted by lo
}

type unitRange struct {
	lo, hi uint64
	unit   int
}

// At gives the unit that covers addr, nil if there is none.
func (x *Units) At(addr uint64) *Unit {
	i := sort.Search(len(x.ranges), func(i int) bool { return x.ranges[i].lo > addr }) - 1
	if i < 0 || addr >= x.ranges[i].hi {
		return nil
	}
	return &x.units[x.ranges[i].unit]
}

// Units reads the root of every compile unit, and nothing below; empty if there is no DWARF.
func (n *Info) Units() *Units {
	x, _ := n.units.Get(n.file.Name(), func() (*Units, error) {
		if x := readUnits(n.file); x != nil {
			return x, nil
		}
		if d := n.file.DebugFile(); d != nil {
			if x := readUnits(d); x != nil {
				return x, nil
			}
		}
		return &Units{}, nil
	})
	if x == nil {
		return &Units{}
	}
	return x
}

// unitSections are what the roots of units refer to; lineSections is what the line tables need besides.
var (
	unitSections = []string{".debug_info", ".debug_abbrev", ".debug_ranges", ".debug_str", ".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"}
	lineSections = []string{".debug_line"}
)

// dwarfSections reads (and expands, which takes longest) sections side by side. The allowance bounds what they take together.
func dwarfSections(file *elffile.File, names []string) map[string][]byte {
	out := make([][]byte, len(names))
	var wg sync.WaitGroup
	for i, n := range names {
		wg.Go(func() {
			var err error
			defer lazy.Guard(&err, file.Name())
			if out[i] = file.DebugSection(n); n == ".debug_str" || n == ".debug_line_str" {
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

func readUnits(file *elffile.File) *Units {
	sec := dwarfSections(file, unitSections)
	if len(sec[".debug_info"]) == 0 || len(sec[".debug_abbrev"]) == 0 {
		return nil
	}
	if err := credible(sec[".debug_info"], sec[".debug_abbrev"]); err != nil {
		file.LeftOut("debug information of %s was not read: %v", file.Name(), err)
		return nil
	}
	d, err := newDwarf(sec)
	if err != nil {
		return nil
	}
	x := &Units{from: file, sections: sec}
	for _, off := range unitOffsets(sec[".debug_info"]) {
		if x.addUnit(d, off); x.read > maxUnitRanges {
			file.LeftOut("debug information of %s was read in part only: its units claim too many addresses", file.Name())
			break
		}
	}
	slices.SortStableFunc(x.ranges, func(a, b unitRange) int { return cmp.Compare(a.lo, b.lo) })
	return x
}

// Section gives the bytes of one of the sections that the roots of units refer to.
func (x *Units) Section(name string) []byte { return x.sections[name] }

// More reads further sections of the file that the DWARF is from.
func (x *Units) More(names ...string) map[string][]byte {
	if x.from == nil {
		return nil
	}
	return dwarfSections(x.from, names)
}

// Roots gives the offset of the root entry of every unit.
func (x *Units) Roots() []dwarf.Offset { return unitOffsets(x.sections[".debug_info"]) }

// data gives DWARF with line tables, which are read when the first line is asked for; nil if there is none.
func (x *Units) data() *dwarf.Data {
	if x.from == nil {
		return nil
	}
	d, _ := x.withLines.Get("DWARF", func() (*dwarf.Data, error) {
		for n, b := range dwarfSections(x.from, lineSections) {
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
		n, wide, head := uint64(elffile.U32(info[off:])), uint64(4), off+4
		if n == 0xffffffff {
			n, wide, head = elffile.U64(info[off+4:]), 8, off+12
		}
		if elffile.Sub(info, head, n) == nil || n < 8 {
			break
		}
		root := head + 2 + wide + 1
		if version := elffile.U16(info[head:]); version >= 5 {
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

func (x *Units) addUnit(d *dwarf.Data, off dwarf.Offset) {
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
	u := Unit{Entry: e}
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
	case LangGo:
		return elffile.ValidText(s), false
	case langRust:
		s, _, _ = strings.Cut(s, "/@/")
		if dir, ok := strings.CutSuffix(s, "/src/lib.rs"); ok && dir != "" {
			s = dir
		}
	}
	return elffile.ValidText(path.Base(s)), false
}

// Module names the module of the code at addr: that of its unit, or where link-time optimisation made one of many source files the file of
// the line. ok is false where there is no unit.
func (n *Info) Module(addr uint64) (module string, ok bool) {
	x := n.Units()
	u := x.At(addr)
	switch {
	case u == nil:
		return "", false
	case !u.broad:
		return u.module, true
	}
	t := n.lines.table(x, u)
	if r := t.find(addr); r != nil {
		return path.Base(t.files[r.file]), true
	}
	return "", true
}
