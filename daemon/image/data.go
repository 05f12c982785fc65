package image

import (
	"debug/elf"
	"sort"
	"sync"
)

// A Data is a named variable of an object: a global lock, for example.
type Data struct {
	Name       string // demangled
	Addr, Size uint64 // file virtual address; bytes
}

// DataAt finds the variable that covers a file virtual address.
func (o *Object) DataAt(vaddr uint64) (Data, bool) {
	all := o.dataSymbols()
	i := sort.Search(len(all), func(i int) bool { return all[i].Addr > vaddr })
	if i == 0 || vaddr-all[i-1].Addr >= all[i-1].Size {
		return Data{}, false
	}
	return all[i-1], true
}

// DataNamed finds a variable by its name.
func (o *Object) DataNamed(name string) (Data, bool) {
	for _, d := range o.dataSymbols() {
		if d.Name == name {
			return d, true
		}
	}
	return Data{}, false
}

// dataTable is the variables of an object, read when first asked for.
type dataTable struct {
	once sync.Once
	all  []Data // sorted by Addr
}

// maxData bounds how many variables are kept.
const maxData = 1 << 20

// dataSymbols lists the variables of .symtab (of the separate debug file where there is one) and .dynsym.
func (o *Object) dataSymbols() []Data {
	o.data.once.Do(func() {
		from := o
		if o.section(".symtab") == nil {
			if d := o.debugFile(); d != nil {
				from = d
			}
		}
		seen := map[uint64]bool{}
		for _, src := range []*Object{from, o} {
			for _, s := range src.secs {
				if s.typ == elf.SHT_SYMTAB || s.typ == elf.SHT_DYNSYM {
					o.addData(src, s, seen)
				}
			}
		}
		sort.Slice(o.data.all, func(i, j int) bool { return o.data.all[i].Addr < o.data.all[j].Addr })
	})
	return o.data.all
}

func (o *Object) addData(from *Object, s *section, seen map[uint64]bool) {
	strs := from.sectionByIndex(s.link)
	if strs == nil {
		return
	}
	str := strs.bytes()
	for tab := s.bytes(); len(tab) >= symSize && len(o.data.all) < maxData; tab = tab[symSize:] {
		addr, size := u64(tab[8:]), u64(tab[16:])
		if elf.ST_TYPE(tab[4]) != elf.STT_OBJECT || elf.SectionIndex(u16(tab[6:])) == elf.SHN_UNDEF || addr == 0 || size == 0 || seen[addr] {
			continue
		}
		if name := demangled(stringAt(str, u32(tab))); name != "" {
			seen[addr] = true
			o.data.all = append(o.data.all, Data{name, addr, size})
		}
	}
}
