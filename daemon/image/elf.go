package image

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// maxSegments bounds the program headers that are believed of a file. Real files stay far below.
const maxSegments = 1 << 12

func u16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// A section is a section header and, once asked for, its bytes.
type section struct {
	o        *Object
	index    int
	name     string
	typ      elf.SectionType
	flags    elf.SectionFlag
	addr     uint64
	size     uint64 // in memory
	off      uint64
	fileSize uint64 // 0 for .bss
	link     uint32

	once   sync.Once
	loaded atomic.Bool
	data   []byte
}

func (s *section) alloc() bool            { return s.flags&elf.SHF_ALLOC != 0 }
func (s *section) exec() bool             { return s.alloc() && s.flags&elf.SHF_EXECINSTR != 0 }
func (s *section) end() uint64            { return s.addr + s.size }
func (s *section) contains(a uint64) bool { return a-s.addr < s.size }
func (s *section) isPLT() bool            { return strings.HasPrefix(s.name, ".plt") }
func (s *section) tls() bool              { return s.flags&elf.SHF_TLS != 0 }

// bytes gives the contents as they lie in the file; nil if they lie outside of it, or are more than can be read.
func (s *section) bytes() []byte {
	if !s.loaded.Load() && InStop(s.o.name+": section "+s.name, func() { s.bytes() }) {
		return nil
	}
	s.once.Do(func() {
		if s.fileSize <= uint64(s.o.size) && s.o.mayRead(s.name, s.fileSize) {
			s.data, _ = s.o.readFile(s.off, s.fileSize)
		}
		if s.data == nil && s.fileSize > 0 && s.alloc() {
			s.o.unread.Store(true)
		}
		s.loaded.Store(true)
	})
	return s.data
}

// largeSection is from how many bytes on a section is not read whole for a look at a few of them: browsers have 200 MB of text.
const largeSection = 16 << 20

// slice gives n bytes from the address lo on; nil if they are not all in the file.
func (s *section) slice(lo, n uint64) []byte {
	off := lo - s.addr
	if s.fileSize < largeSection || n > largeSection/16 || s.loaded.Load() {
		return sub(s.bytes(), off, n)
	}
	if off > s.fileSize || n > s.fileSize-off || InStop(s.o.name+": section "+s.name, func() { s.bytes() }) {
		return nil
	}
	b, _ := s.o.readFile(s.off+off, n)
	return b
}

// sub is b[off:off+n], or nil if that is not all there.
func sub(b []byte, off, n uint64) []byte {
	if off > uint64(len(b)) || n > uint64(len(b))-off {
		return nil
	}
	return b[off : off+n]
}

// readFile reads n bytes at an offset of the file; it never asks for more memory than the file has bytes.
func (o *Object) readFile(off, n uint64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if off > uint64(o.size) || n > uint64(o.size)-off {
		return nil, fmt.Errorf("%s: bytes %#x..%#x lie outside of the file (%d bytes); is it truncated?", o.name, off, off+n, o.size)
	}
	if InStop(o.name+": bytes of the file", func() {}) {
		return nil, errInStop
	}
	b := make([]byte, n)
	if m, err := o.r.ReadAt(b, int64(off)); m < len(b) {
		return nil, fmt.Errorf("%s: reading %d bytes at %#x: %w", o.name, n, off, err)
	}
	return b, nil
}

func (o *Object) readSegments() error {
	for _, p := range o.file.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Vaddr+p.Memsz < p.Vaddr || p.Filesz > p.Memsz {
			return fmt.Errorf("program header at %#x has an impossible size", p.Vaddr)
		}
		if len(o.segs) == maxSegments {
			return errors.New("too many program headers")
		}
		o.segs = append(o.segs, Segment{Off: p.Off, Vaddr: p.Vaddr, FileSize: p.Filesz, MemSize: p.Memsz, Exec: p.Flags&elf.PF_X != 0})
	}
	return nil
}

// readSections takes the section headers that make sense. Without any (sstrip), the segments stand in for them.
func (o *Object) readSections() {
	for i, s := range o.file.Sections {
		if s.Type == elf.SHT_NULL || s.Addr+s.Size < s.Addr {
			continue
		}
		t := &section{o: o, index: i, name: s.Name, typ: s.Type, flags: s.Flags, addr: s.Addr, size: s.Size, off: s.Offset, fileSize: s.FileSize, link: s.Link}
		if s.Type == elf.SHT_NOBITS {
			t.fileSize = 0
		}
		o.secs = append(o.secs, t)
	}
	if len(o.secs) == 0 {
		o.sectionsFromSegments()
	}
	sort.SliceStable(o.secs, func(i, j int) bool { return o.secs[i].addr < o.secs[j].addr })
}

func (o *Object) sectionsFromSegments() {
	for _, g := range o.segs {
		flags := elf.SHF_ALLOC
		if g.Exec {
			flags |= elf.SHF_EXECINSTR
		}
		o.secs = append(o.secs, &section{o: o, index: -1, name: "segment", typ: elf.SHT_PROGBITS, flags: flags, addr: g.Vaddr, size: g.FileSize, off: g.Off, fileSize: g.FileSize})
	}
}

// section finds a section by name, nil if there is none.
func (o *Object) section(name string) *section {
	for _, s := range o.secs {
		if s.name == name {
			return s
		}
	}
	return nil
}

// sectionByIndex finds a section by its number in the file.
func (o *Object) sectionByIndex(i uint32) *section {
	for _, s := range o.secs {
		if s.index == int(i) {
			return s
		}
	}
	return nil
}

// sectionAt finds the allocated section that holds addr (thread-local templates excluded: they overlap others).
func (o *Object) sectionAt(addr uint64) *section {
	n := sort.Search(len(o.secs), func(i int) bool { return o.secs[i].addr > addr })
	for i := n - 1; i >= 0 && i >= n-8; i-- {
		if s := o.secs[i]; s.alloc() && !s.tls() && s.contains(addr) {
			return s
		}
	}
	return nil
}

// execAt finds the executable section that holds addr.
func (o *Object) execAt(addr uint64) *section {
	if s := o.sectionAt(addr); s != nil && s.exec() {
		return s
	}
	return nil
}

// wordAt reads 8 bytes of initialised memory.
func (o *Object) wordAt(addr uint64) (uint64, bool) {
	s := o.sectionAt(addr)
	if s == nil {
		return 0, false
	}
	b := s.slice(addr, 8)
	if b == nil {
		return 0, false
	}
	return u64(b), true
}

// Code gives the bytes of [lo, hi), which must lie in one executable section. The caller must not change them.
func (o *Object) Code(lo, hi uint64) ([]byte, error) {
	s := o.execAt(lo)
	if s == nil || hi < lo || hi > s.end() {
		return nil, fmt.Errorf("%s: %#x..%#x is not in one executable section", o.name, lo, hi)
	}
	b := s.slice(lo, hi-lo)
	if b == nil && hi != lo {
		return nil, fmt.Errorf("%s: the code at %#x..%#x is not in the file; is it truncated?", o.name, lo, hi)
	}
	return b, nil
}

// CodeRead is Code where the file need not be read for it; nil where it must.
func (o *Object) CodeRead(lo, hi uint64) []byte {
	s := o.execAt(lo)
	if s == nil || !s.loaded.Load() || hi < lo || hi > s.end() {
		return nil
	}
	return s.slice(lo, hi-lo)
}

// debugSection gives the expanded contents of a DWARF section; nil if there is none or it claims a size that cannot be.
func (o *Object) debugSection(name string) []byte {
	for _, s := range o.file.Sections {
		if s.Name != name && s.Name != ".z"+strings.TrimPrefix(name, ".") {
			continue
		}
		if s.Type == elf.SHT_NOBITS || !o.mayExpand(s) {
			return nil
		}
		b, err := expand(s)
		if err != nil {
			return nil
		}
		return b
	}
	return nil
}
