package program

import (
	"strings"

	"culprit/daemon/image"
)

// An Object is an ELF file as a program maps it.
type Object struct {
	*image.Object
	Name   string // what it is called in resources; not to be shown raw
	path   string
	File   FileKey
	Text   uint64 // where its executable mapping begins
	Lo, Hi uint64 // its mappings lie between, half-open
	Bias   uint64 // how far it lies from the addresses in its file
	Shared bool   // its text is mapped MAP_SHARED: what is written there comes into the file, and to all who map that
	stays  bool   // it cannot be unloaded while the program runs
}

// inPage are the bits of an address that tell where in its page it lies.
const inPage = 4096 - 1

// place works out how far the object lies from the addresses in its file; false if m maps none of the file's code at the right distance.
func (o *Object) place(m *Mapping) bool {
	for _, s := range o.Segments() {
		if off := m.Offset - s.Off&^inPage; s.Exec && m.Offset >= s.Off&^inPage && off < s.FileSize {
			o.Bias = m.Start - off - s.Vaddr&^inPage
			return true
		}
	}
	return false
}

// extend takes the other mappings of the object in. The same file may be mapped elsewhere too, by a program that reads its own symbols or
// that has loaded a library a second time (dlmopen): those are others.
func (o *Object) extend(maps []Mapping) {
	lo, hi := ^uint64(0), uint64(0)
	for _, s := range o.Segments() {
		lo, hi = min(lo, o.Bias+s.Vaddr&^inPage), max(hi, o.Bias+(s.Vaddr+s.MemSize+inPage)&^inPage)
	}
	for _, n := range maps {
		if n.File == o.File && n.Start >= lo && n.End <= hi {
			o.Lo, o.Hi = min(o.Lo, n.Start), max(o.Hi, n.End)
		}
	}
}

// Holds reports whether an address lies in the object.
func (o *Object) Holds(addr uint64) bool { return addr >= o.Lo && addr < o.Hi }

// MappedIn reports whether the object's text is where it was found.
func (o *Object) MappedIn(maps []Mapping) bool {
	for _, m := range maps {
		if m.Start == o.Text {
			return m.Exec && m.File == o.File && m.Shared == o.Shared
		}
	}
	return false
}

// Resident reports whether the object cannot be unloaded while the program runs. nil can.
func (o *Object) Resident() bool { return o != nil && o.stays }

// DataAt is the object whose data an address lies in, what the file holds no bytes of included.
func (p *Program) DataAt(addr uint64) *Object {
	for _, obj := range p.list {
		for _, s := range obj.Segments() {
			if addr-obj.Bias >= s.Vaddr && addr-obj.Bias < s.Vaddr+s.MemSize {
				return obj
			}
		}
	}
	return nil
}

// DataNamed is the address of a variable with a symbol, or of a named part of it.
func (p *Program) DataNamed(name string) (uint64, bool) {
	for _, obj := range p.list {
		own := name
		if rest, ok := strings.CutPrefix(name, obj.Name+":"); ok {
			own = rest
		}
		if at, ok := obj.PartNamed(own); ok {
			return at + obj.Bias, true
		}
	}
	return 0, false
}
