package elffile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"culprit/daemon/image/lazy"
)

// maxSegments bounds the program headers that are believed of a file. Real files stay far below.
const maxSegments = 1 << 12

// U16 is the little-endian number at the front of b.
func U16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }

// U32 is the little-endian number at the front of b.
func U32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// U64 is the little-endian number at the front of b.
func U64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// A Section is a section header and, once asked for, its bytes.
type Section struct {
	f        *File
	Index    int // in the file; -1 of a segment that stands in for a section
	Name     string
	Type     elf.SectionType
	Flags    elf.SectionFlag
	Addr     uint64
	Size     uint64 // in memory
	off      uint64
	FileSize uint64 // 0 for .bss
	Link     uint32 // number of the section that goes with it: of names, for example

	once   sync.Once
	loaded atomic.Bool
	data   []byte
}

// Alloc reports whether the section is loaded into memory.
func (s *Section) Alloc() bool { return s.Flags&elf.SHF_ALLOC != 0 }

// Exec reports whether it is loaded and holds code.
func (s *Section) Exec() bool { return s.Alloc() && s.Flags&elf.SHF_EXECINSTR != 0 }

// End is the address behind it.
func (s *Section) End() uint64 { return s.Addr + s.Size }

// Contains reports whether an address lies in it.
func (s *Section) Contains(a uint64) bool { return a-s.Addr < s.Size }

// IsPLT reports whether it is a procedure linkage table.
func (s *Section) IsPLT() bool { return strings.HasPrefix(s.Name, ".plt") }

// TLS reports whether it is a template of thread-local memory.
func (s *Section) TLS() bool { return s.Flags&elf.SHF_TLS != 0 }

// Bytes gives the contents as they lie in the file; nil if they lie outside of it, or are more than can be read.
func (s *Section) Bytes() []byte {
	if !s.loaded.Load() && lazy.InStop(s.f.name+": section "+s.Name, func() { s.Bytes() }) {
		return nil
	}
	s.once.Do(func() {
		if s.FileSize <= uint64(s.f.size) && s.f.mayRead(s.Name, s.FileSize) {
			s.data, _ = s.f.readFile(s.off, s.FileSize)
		}
		if s.data == nil && s.FileSize > 0 && s.Alloc() {
			s.f.unread.Store(true)
		}
		s.loaded.Store(true)
	})
	return s.data
}

// largeSection is from how many bytes on a section is not read whole for a look at a few of them: browsers have 200 MB of text.
const largeSection = 16 << 20

// Slice gives n bytes from the address lo on; nil if they are not all in the file.
func (s *Section) Slice(lo, n uint64) []byte {
	off := lo - s.Addr
	if s.FileSize < largeSection || n > largeSection/16 || s.loaded.Load() {
		return Sub(s.Bytes(), off, n)
	}
	if off > s.FileSize || n > s.FileSize-off || lazy.InStop(s.f.name+": section "+s.Name, func() { s.Bytes() }) {
		return nil
	}
	b, _ := s.f.readFile(s.off+off, n)
	return b
}

// From is the part of a section that begins at addr, as a section of its own.
func (s *Section) From(addr uint64) *Section {
	n := s.End() - addr
	return &Section{f: s.f, Addr: addr, Size: n, off: s.off + (addr - s.Addr), FileSize: n, Flags: s.Flags}
}

// Sub is b[off:off+n], or nil if that is not all there.
func Sub(b []byte, off, n uint64) []byte {
	if off > uint64(len(b)) || n > uint64(len(b))-off {
		return nil
	}
	return b[off : off+n]
}

// readFile reads n bytes at an offset of the file; it never asks for more memory than the file has bytes.
func (f *File) readFile(off, n uint64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if off > uint64(f.size) || n > uint64(f.size)-off {
		return nil, fmt.Errorf("%s: bytes %#x..%#x lie outside of the file (%d bytes); is it truncated?", f.name, off, off+n, f.size)
	}
	if lazy.InStop(f.name+": bytes of the file", func() {}) {
		return nil, lazy.ErrInStop
	}
	b := make([]byte, n)
	if m, err := f.r.ReadAt(b, int64(off)); m < len(b) {
		return nil, fmt.Errorf("%s: reading %d bytes at %#x: %w", f.name, n, off, err)
	}
	return b, nil
}

func (f *File) readSegments() error {
	for _, p := range f.headers.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Vaddr+p.Memsz < p.Vaddr || p.Filesz > p.Memsz {
			return fmt.Errorf("program header at %#x has an impossible size", p.Vaddr)
		}
		if len(f.segments) == maxSegments {
			return errors.New("too many program headers")
		}
		f.segments = append(f.segments, Segment{Off: p.Off, Vaddr: p.Vaddr, FileSize: p.Filesz, MemSize: p.Memsz, Exec: p.Flags&elf.PF_X != 0})
	}
	return nil
}

// readSections takes the section headers that make sense. Without any (sstrip), the segments stand in for them.
func (f *File) readSections() {
	for i, s := range f.headers.Sections {
		if s.Type == elf.SHT_NULL || s.Addr+s.Size < s.Addr {
			continue
		}
		t := &Section{f: f, Index: i, Name: s.Name, Type: s.Type, Flags: s.Flags, Addr: s.Addr, Size: s.Size, off: s.Offset, FileSize: s.FileSize, Link: s.Link}
		if s.Type == elf.SHT_NOBITS {
			t.FileSize = 0
		}
		f.sections = append(f.sections, t)
	}
	if len(f.sections) == 0 {
		f.sectionsFromSegments()
	}
	sort.SliceStable(f.sections, func(i, j int) bool { return f.sections[i].Addr < f.sections[j].Addr })
}

func (f *File) sectionsFromSegments() {
	for _, g := range f.segments {
		flags := elf.SHF_ALLOC
		if g.Exec {
			flags |= elf.SHF_EXECINSTR
		}
		f.sections = append(f.sections, &Section{f: f, Index: -1, Name: "segment", Type: elf.SHT_PROGBITS, Flags: flags, Addr: g.Vaddr, Size: g.FileSize, off: g.Off, FileSize: g.FileSize})
	}
}

// Section finds a section by name, nil if there is none.
func (f *File) Section(name string) *Section {
	for _, s := range f.sections {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// SectionByIndex finds a section by its number in the file.
func (f *File) SectionByIndex(i uint32) *Section {
	for _, s := range f.sections {
		if s.Index == int(i) {
			return s
		}
	}
	return nil
}

// SectionAt finds the allocated section that holds addr (thread-local templates excluded: they overlap others).
func (f *File) SectionAt(addr uint64) *Section {
	n := sort.Search(len(f.sections), func(i int) bool { return f.sections[i].Addr > addr })
	for i := n - 1; i >= 0 && i >= n-8; i-- {
		if s := f.sections[i]; s.Alloc() && !s.TLS() && s.Contains(addr) {
			return s
		}
	}
	return nil
}

// ExecAt finds the executable section that holds addr.
func (f *File) ExecAt(addr uint64) *Section {
	if s := f.SectionAt(addr); s != nil && s.Exec() {
		return s
	}
	return nil
}

// WordAt reads 8 bytes of initialised memory.
func (f *File) WordAt(addr uint64) (uint64, bool) {
	s := f.SectionAt(addr)
	if s == nil {
		return 0, false
	}
	b := s.Slice(addr, 8)
	if b == nil {
		return 0, false
	}
	return U64(b), true
}

// Code gives the bytes of [lo, hi), which must lie in one executable section. The caller must not change them.
func (f *File) Code(lo, hi uint64) ([]byte, error) {
	s := f.ExecAt(lo)
	if s == nil || hi < lo || hi > s.End() {
		return nil, fmt.Errorf("%s: %#x..%#x is not in one executable section", f.name, lo, hi)
	}
	b := s.Slice(lo, hi-lo)
	if b == nil && hi != lo {
		return nil, fmt.Errorf("%s: the code at %#x..%#x is not in the file; is it truncated?", f.name, lo, hi)
	}
	return b, nil
}

// CodeRead is Code where the file need not be read for it; nil where it must.
func (f *File) CodeRead(lo, hi uint64) []byte {
	s := f.ExecAt(lo)
	if s == nil || !s.loaded.Load() || hi < lo || hi > s.End() {
		return nil
	}
	return s.Slice(lo, hi-lo)
}

// DebugSection gives the expanded contents of a DWARF section; nil if there is none or it claims a size that cannot be.
func (f *File) DebugSection(name string) []byte {
	for _, s := range f.headers.Sections {
		if s.Name != name && s.Name != ".z"+strings.TrimPrefix(name, ".") {
			continue
		}
		if s.Type == elf.SHT_NOBITS || !f.mayExpand(s) {
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
