package image

import "debug/elf"

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
	r, _ := o.relocs.get(o.name, func() (*relocations, error) {
		r := &relocations{slots: map[uint64]slot{}, words: map[uint64]uint64{}}
		for _, s := range o.secs {
			switch s.typ {
			case elf.SHT_RELA:
				if s.alloc() {
					o.readRela(r, s)
				}
			case shtRelr:
				o.readRelr(r, s.bytes())
			}
		}
		if r.full() {
			o.unread.Store(true)
			o.leftOut("%s claims more than %d relocations: the others were not read, and its functions are not measured", o.name, maxRelocations)
		}
		return r, nil
	})
	if r == nil {
		return &relocations{}
	}
	return r
}

// readRela reads Elf64_Rela entries: r_offset, r_info, r_addend (elf(5)).
func (o *Object) readRela(r *relocations, s *section) {
	syms := o.dynNames(s.link)
	for b := s.bytes(); len(b) >= 24; b = b[24:] {
		where, info, addend := u64(b), u64(b[8:]), u64(b[16:])
		if r.full() {
			break
		}
		switch elf.R_X86_64(info & 0xffffffff) {
		case elf.R_X86_64_RELATIVE:
			r.relative(where, addend)
		case elf.R_X86_64_IRELATIVE:
			r.values = append(r.values, addend)
			r.slots[where] = slot{target: addend, ifunc: true}
		case elf.R_X86_64_JMP_SLOT, elf.R_X86_64_GLOB_DAT, elf.R_X86_64_64:
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
		if v, ok := o.wordAt(where); ok {
			r.relative(where, v)
		}
	}
	var next uint64
	for ; len(b) >= 8 && !r.full(); b = b[8:] {
		w := u64(b)
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
	s := o.sectionByIndex(link)
	if s == nil || (s.typ != elf.SHT_DYNSYM && s.typ != elf.SHT_SYMTAB) {
		return dynSymbols{}
	}
	str := o.sectionByIndex(s.link)
	if str == nil {
		return dynSymbols{}
	}
	return dynSymbols{tab: s.bytes(), str: str.bytes()}
}

func (d dynSymbols) at(i uint64) dynSymbol {
	if i >= uint64(len(d.tab)/symSize) {
		return dynSymbol{}
	}
	b := d.tab[i*symSize:]
	s := dynSymbol{name: cleanName(stringAt(d.str, u32(b)))}
	if u16(b[6:]) != uint16(elf.SHN_UNDEF) {
		s.addr = u64(b[8:])
		s.ifunc = elf.ST_TYPE(b[4]) == elf.STT_GNU_IFUNC
	}
	return s
}
