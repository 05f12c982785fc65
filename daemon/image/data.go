package image

import (
	"debug/elf"
	"fmt"
	"path"
	"sort"
	"sync"

	"culprit/daemon/image/elffile"
)

// A Data is a named variable of an object: a global lock, for example.
type Data struct {
	Name       string // demangled; with its source file where several have the same: "cache.c:lock"
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
	all  []Data            // sorted by Addr
	file map[uint64]string // of variables that only their source file knows, by address
}

// distinguish gives variables of the same name different ones: the source file in front, where it is known and tells.
func (t *dataTable) distinguish() {
	number := map[string]int{}
	for _, d := range t.all {
		number[d.Name]++
	}
	seen := map[string]int{}
	for i := range t.all {
		d := &t.all[i]
		if number[d.Name] == 1 {
			continue
		}
		if file := t.file[d.Addr]; file != "" {
			d.Name = file + ":" + d.Name
		}
		if seen[d.Name]++; seen[d.Name] > 1 {
			d.Name = fmt.Sprintf("%s#%d", d.Name, seen[d.Name])
		}
	}
}

// maxData bounds how many variables are kept.
const maxData = 1 << 20

// dataSymbols lists the variables of .symtab (of the separate debug file where there is one) and .dynsym.
func (o *Object) dataSymbols() []Data {
	o.data.once.Do(func() {
		from := o.elf
		if o.elf.Section(".symtab") == nil {
			if d := o.elf.DebugFile(); d != nil {
				from = d
			}
		}
		seen := map[uint64]bool{}
		for _, src := range []*elffile.File{from, o.elf} {
			for _, s := range src.Sections() {
				if s.Type == elf.SHT_SYMTAB || s.Type == elf.SHT_DYNSYM {
					o.addData(src, s, seen)
				}
			}
		}
		sort.Slice(o.data.all, func(i, j int) bool { return o.data.all[i].Addr < o.data.all[j].Addr })
		o.data.distinguish()
	})
	return o.data.all
}

// noteFile remembers the source file of a variable.
func (t *dataTable) noteFile(addr uint64, file string) {
	if t.file == nil {
		t.file = map[uint64]string{}
	}
	if file != "" {
		t.file[addr] = path.Base(file)
	}
}

func (o *Object) addData(from *elffile.File, s *elffile.Section, seen map[uint64]bool) {
	strs := from.SectionByIndex(s.Link)
	if strs == nil {
		return
	}
	str, file := strs.Bytes(), ""
	room := elffile.RoomForNames(str)
	for tab := s.Bytes(); len(tab) >= symSize && len(o.data.all) < maxData; tab = tab[symSize:] {
		addr, size := elffile.U64(tab[8:]), elffile.U64(tab[16:])
		if elf.ST_TYPE(tab[4]) == elf.STT_FILE { // what is local and comes behind it is in it
			file = elffile.ValidText(elffile.StringAt(str, elffile.U32(tab)))
		}
		if elf.ST_TYPE(tab[4]) != elf.STT_OBJECT || elf.SectionIndex(elffile.U16(tab[6:])) == elf.SHN_UNDEF || addr == 0 || size == 0 || seen[addr] {
			continue
		}
		if name := o.demangled(elffile.StringAt(str, elffile.U32(tab))); name != "" {
			if !room.Take(name) {
				o.elf.LeftOut("symbols of %s were read in part only: their names are longer than the table that holds them", o.elf.Name())
				return
			}
			seen[addr] = true
			o.data.all = append(o.data.all, Data{name, addr, size})
			if elf.ST_BIND(tab[4]) == elf.STB_LOCAL {
				o.data.noteFile(addr, file)
			}
		}
	}
}
