package daemon

import (
	"strings"

	"culprit/daemon/image"
)

// An object is an ELF file as a program maps it.
type object struct {
	*image.Object
	name   string
	path   string
	key    fileKey
	text   uint64 // where its executable mapping begins
	lo, hi uint64
	bias   uint64
	stays  bool // it cannot be unloaded while the target runs
}

// place works out how far the object lies from the addresses in its file; false if m maps none of the file's code at the right distance.
func (o *object) place(m *mapping) bool {
	for _, s := range o.Segments() {
		if off := m.offset - s.Off&^pageMask; s.Exec && m.offset >= s.Off&^pageMask && off < s.FileSize {
			o.bias = m.start - off - s.Vaddr&^pageMask
			return true
		}
	}
	return false
}

// extend takes the other mappings of the object in. The same file may be mapped elsewhere too, by a program that reads its own symbols or
// that has loaded a library a second time (dlmopen): those are others.
func (o *object) extend(maps []mapping) {
	lo, hi := ^uint64(0), uint64(0)
	for _, s := range o.Segments() {
		lo, hi = min(lo, o.bias+s.Vaddr&^pageMask), max(hi, o.bias+(s.Vaddr+s.MemSize+pageMask)&^pageMask)
	}
	for _, n := range maps {
		if n.file == o.key && n.start >= lo && n.end <= hi {
			o.lo, o.hi = min(o.lo, n.start), max(o.hi, n.end)
		}
	}
}

// holds reports whether an address lies in the object.
func (o *object) holds(addr uint64) bool { return addr >= o.lo && addr < o.hi }

// mappedIn reports whether the object's text is where it was found.
func (o *object) mappedIn(maps []mapping) bool {
	for _, m := range maps {
		if m.start == o.text {
			return m.exec && m.file == o.key
		}
	}
	return false
}

// resident reports whether the object cannot be unloaded while the program runs. nil can.
func (o *object) resident() bool { return o != nil && o.stays }

// dataAt is the object whose data an address lies in, what the file holds no bytes of included.
func (p *program) dataAt(addr uint64) *object {
	for _, obj := range p.list {
		for _, s := range obj.Segments() {
			if addr-obj.bias >= s.Vaddr && addr-obj.bias < s.Vaddr+s.MemSize {
				return obj
			}
		}
	}
	return nil
}

// dataNamed is the address of a variable with a symbol, or of a named part of it.
func (p *program) dataNamed(name string) (uint64, bool) {
	for _, obj := range p.list {
		own := name
		if rest, ok := strings.CutPrefix(name, obj.name+":"); ok {
			own = rest
		}
		if at, ok := obj.PartNamed(own); ok {
			return at + obj.bias, true
		}
	}
	return 0, false
}
