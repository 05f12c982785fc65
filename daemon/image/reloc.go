package image

import (
	"debug/elf"

	"culprit/daemon/image/elffile"
)

// shtRelr is SHT_RELR, packed relative relocations; debug/elf does not name it.
const shtRelr = elf.SectionType(19)

// relocations says what the loader will write where: the slots of the global offset table, and every code address that the
// object keeps in its data.
type relocations struct {
	slots  map[uint64]slot // by address of the word
	values []uint64        // addresses that relative relocations put into data
	words  map[uint64]uint64
}

// A slot is a word that the loader fills with the address of a symbol or of a place in this object.
type slot struct {
	symbol string // imported or exported symbol, "" for a relative one
	target uint64 // address in this object, 0 if not known
	ifunc  bool   // target is a resolver: the final address is what it returns
}

func (r *relocations) full() bool {
	return len(r.values) >= maxRelocations || len(r.slots) >= maxRelocations || len(r.words) >= maxRelocations
}

func (o *Object) relocations() *relocations {
	r, _ := o.relocs.Get(o.elf.Name(), func() (*relocations, error) {
		r := &relocations{slots: map[uint64]slot{}, words: map[uint64]uint64{}}
		for _, s := range o.elf.Sections() {
			switch s.Type {
			case elf.SHT_RELA:
				if s.Alloc() {
					o.readRela(r, s)
				}
			case shtRelr:
				o.readRelr(r, s.Bytes())
			}
		}
		if r.full() {
			o.elf.MarkUnread()
			o.elf.LeftOut("%s claims more than %d relocations: the others were not read, and its functions are not measured", o.elf.Name(), maxRelocations)
		}
		return r, nil
	})
	if r == nil {
		return &relocations{}
	}
	return r
}

// readRela reads Elf64_Rela entries: r_offset, r_info, r_addend (elf(5)).
func (o *Object) readRela(r *relocations, s *elffile.Section) {
	syms := o.dynNames(s.Link)
	for b := s.Bytes(); len(b) >= 24; b = b[24:] {
		where, info, addend := elffile.U64(b), elffile.U64(b[8:]), elffile.U64(b[16:])
		if r.full() {
			break
		}
		switch elf.R_X86_64(info & 0xffffffff) {
		case relRelative:
			r.relative(where, addend)
		case relIndirect:
			r.values = append(r.values, addend)
			r.slots[where] = slot{target: addend, ifunc: true}
		case relJumpSlot, relGlobal, relAddress:
			sym := syms.at(info >> 32)
			if sym.addr != 0 {
				r.values = append(r.values, sym.addr+addend)
			}
			r.slots[where] = slot{symbol: sym.name, target: sym.addr, ifunc: sym.ifunc}
		}
	}
}

// maxRelocations bounds how many are kept. The largest programs have some millions; a packed table expands by 500.
const maxRelocations = 8 << 20

func (r *relocations) relative(where, addend uint64) {
	if r.full() {
		return
	}
	r.values = append(r.values, addend)
	r.words[where] = addend
}

// readRelr expands the packed relative relocations (generic ABI, "Relative Relocation Table"): an even word is an address,
// an odd one a bit map of the 63 words that follow. The addends lie at the places themselves.
func (o *Object) readRelr(r *relocations, b []byte) {
	at := func(where uint64) {
		if v, ok := o.elf.WordAt(where); ok {
			r.relative(where, v)
		}
	}
	var next uint64
	for ; len(b) >= 8 && !r.full(); b = b[8:] {
		w := elffile.U64(b)
		if w&1 == 0 {
			at(w)
			next = w + 8
			continue
		}
		for i := uint64(0); i < 63; i++ {
			if w>>(i+1)&1 != 0 {
				at(next + 8*i)
			}
		}
		next += 63 * 8
	}
}

// dynSymbols gives names and addresses of a symbol table by index.
type dynSymbols struct {
	tab, str []byte
}

type dynSymbol struct {
	name  string
	addr  uint64
	ifunc bool
}

func (o *Object) dynNames(link uint32) dynSymbols {
	s := o.elf.SectionByIndex(link)
	if s == nil || (s.Type != elf.SHT_DYNSYM && s.Type != elf.SHT_SYMTAB) {
		return dynSymbols{}
	}
	str := o.elf.SectionByIndex(s.Link)
	if str == nil {
		return dynSymbols{}
	}
	return dynSymbols{tab: s.Bytes(), str: str.Bytes()}
}

func (d dynSymbols) at(i uint64) dynSymbol {
	if i >= uint64(len(d.tab)/symSize) {
		return dynSymbol{}
	}
	b := d.tab[i*symSize:]
	s := dynSymbol{name: cleanName(elffile.StringAt(d.str, elffile.U32(b)))}
	if elffile.U16(b[6:]) != uint16(elf.SHN_UNDEF) {
		s.addr = elffile.U64(b[8:])
		s.ifunc = elf.ST_TYPE(b[4]) == elf.STT_GNU_IFUNC
	}
	return s
}
