package image

import (
	"debug/elf"
	"slices"
	"strings"

	"culprit/daemon/image/elffile"
)

const (
	symSize    = 24      // sizeof(Elf64_Sym)
	maxSymbols = 2 << 20 // function symbols believed of one file
	bindLocal  = uint8(elf.STB_LOCAL)
	bindWeak   = uint8(elf.STB_WEAK)
)

// A symbol is a function symbol that is defined here.
type symbol struct {
	name    string
	version string
	addr    uint64
	size    uint64
	bind    uint8
	ifunc   bool
	old     bool  // a version that new programs do not link against (name@VERSION, not @@)
	unit    int32 // counts STT_FILE symbols: local names are unique within one
}

// symbolSet is what the symbol tables say about code.
type symbolSet struct {
	funcs  []symbol
	labels []uint64 // untyped symbols inside code: hand-written assembly jumps there
	goText Range    // between the symbols runtime.text and runtime.etext of Go's linker
}

// readSymbols collects what the symbol tables say about code.
func (o *Object) readSymbols() (*symbolSet, error) {
	set := &symbolSet{}
	err := o.eachTable(func(from *elffile.File, s *elffile.Section) error {
		if s.Type == elf.SHT_DYNSYM {
			return o.addSymbols(set, from, s, o.versions())
		}
		return o.addSymbols(set, from, s, nil)
	})
	if err != nil {
		return nil, err
	}
	return set, nil
}

// eachTable goes through .symtab (of the separate debug file, if the object is stripped and there is one) and .dynsym.
func (o *Object) eachTable(visit func(from *elffile.File, s *elffile.Section) error) error {
	from := o.elf
	if o.elf.Section(".symtab") == nil {
		if d := o.elf.DebugFile(); d != nil {
			from = d
		}
	}
	for _, s := range from.Sections() {
		if s.Type == elf.SHT_SYMTAB {
			if err := visit(from, s); err != nil {
				return err
			}
		}
	}
	for _, s := range o.elf.Sections() {
		if s.Type == elf.SHT_DYNSYM {
			if err := visit(o.elf, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Object) addSymbols(set *symbolSet, from *elffile.File, s *elffile.Section, vers *versionTable) error {
	strs := from.SectionByIndex(s.Link)
	if strs == nil {
		return nil
	}
	str, unit := strs.Bytes(), int32(0)
	tab := s.Bytes()
	room := elffile.RoomForNames(str)
	set.funcs = slices.Grow(set.funcs, functionsIn(tab))
	for i := 0; len(tab) >= symSize; i, tab = i+1, tab[symSize:] {
		if i%oftenEnough == 0 {
			if err := o.elf.Ended(); err != nil {
				return err
			}
		}
		typ, bind, shndx := elf.ST_TYPE(tab[4]), uint8(elf.ST_BIND(tab[4])), elf.SectionIndex(elffile.U16(tab[6:]))
		if typ == elf.STT_FILE {
			unit++
		}
		addr := elffile.U64(tab[8:])
		if shndx == elf.SHN_UNDEF || addr == 0 || o.elf.ExecAt(addr) == nil {
			continue
		}
		switch typ {
		case elf.STT_NOTYPE:
			if len(set.labels) >= maxSymbols {
				continue
			}
			set.labels = append(set.labels, addr)
		case elf.STT_FUNC, elf.STT_GNU_IFUNC:
			raw := elffile.StringAt(str, elffile.U32(tab))
			if len(set.funcs) >= maxSymbols {
				o.elf.LeftOut("symbols of %s were read in part only: it claims more than %d functions", o.elf.Name(), maxSymbols)
				return nil
			}
			if !room.Take(raw) {
				o.elf.LeftOut("symbols of %s were read in part only: their names are longer than the table that holds them", o.elf.Name())
				return nil
			}
			y := symbol{name: cleanName(raw), addr: addr, size: elffile.U64(tab[16:]), bind: bind, ifunc: typ == elf.STT_GNU_IFUNC, unit: unit}
			if y.version, y.old = vers.of(i); vers == nil {
				y.version, y.old = versionIn(raw)
			}
			switch y.name {
			case "":
				continue
			case "runtime.text":
				set.goText.Lo = addr
			case "runtime.etext":
				set.goText.Hi = addr
			}
			set.funcs = append(set.funcs, y)
		}
	}
	return nil
}

// functionsIn is how many entries of a table are functions that are defined; maxSymbols at most.
func functionsIn(tab []byte) (n int) {
	for ; len(tab) >= symSize && n < maxSymbols; tab = tab[symSize:] {
		typ := elf.ST_TYPE(tab[4])
		if (typ == elf.STT_FUNC || typ == elf.STT_GNU_IFUNC) && elf.SectionIndex(elffile.U16(tab[6:])) != elf.SHN_UNDEF {
			n++
		}
	}
	return n
}

// versionIn takes the version from a name in .symtab: name@@DEFAULT or name@OLD.
func versionIn(name string) (version string, old bool) {
	_, v, ok := strings.Cut(name, "@")
	if d, def := strings.CutPrefix(v, "@"); def {
		return elffile.ValidText(d), false
	}
	return elffile.ValidText(v), ok
}

// versionTable is .gnu.version with the names of .gnu.version_d (LSB, "Symbol Versioning").
type versionTable struct {
	index []byte
	names map[uint16]string
}

func (v *versionTable) of(i int) (name string, old bool) {
	if v == nil || 2*i+2 > len(v.index) {
		return "", false
	}
	x := elffile.U16(v.index[2*i:])
	return v.names[x&0x7fff], x&0x8000 != 0
}

func (o *Object) versions() *versionTable {
	ver, def := o.elf.Section(".gnu.version"), o.elf.Section(".gnu.version_d")
	if ver == nil || def == nil {
		return nil
	}
	v := &versionTable{index: ver.Bytes(), names: map[uint16]string{}}
	strs := o.elf.SectionByIndex(def.Link)
	if strs == nil {
		return v
	}
	b := def.Bytes()
	// Elf64_Verdef: version, flags, ndx, cnt (16 bits each), hash, aux, next (32 bits each); Elf64_Verdaux: name, next.
	for len(b) >= 20 && len(v.names) < 1<<15 {
		aux, next := elffile.U32(b[12:]), elffile.U32(b[16:])
		if a := elffile.Sub(b, uint64(aux), 8); a != nil {
			v.names[elffile.U16(b[4:])&0x7fff] = elffile.ValidText(elffile.StringAt(strs.Bytes(), elffile.U32(a)))
		}
		if next < 20 || uint64(next) > uint64(len(b)) {
			break
		}
		b = b[next:]
	}
	return v
}
