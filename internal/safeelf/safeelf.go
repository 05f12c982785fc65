// Package safeelf opens ELF files that may be damaged or hostile. It checks the headers before debug/elf believes them: debug/elf
// reads as many section headers as a file claims to have, expands a compressed table of names, and copies a name for each section.
//
// It imports nothing of the project. Its functions may be called from any goroutine.
package safeelf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"syscall"
)

// What section headers may claim. Programs have some dozens of sections with names of some dozens of bytes.
const (
	maxSections  = 0xff00 // more need an extension of the format that only object files use
	maxNameTable = 1 << 20
	maxNames     = 16 << 20 // bytes of all names together
)

// NewFile reads the headers of an ELF file of size bytes. Section headers that claim what cannot be are left out, as in a file that was
// stripped of them: then left says why, and is "" otherwise. The error is that of debug/elf.
func NewFile(r io.ReaderAt, size int64) (f *elf.File, left string, err error) {
	if why := incredible(r, size); why != "" {
		r, left = withoutSections(r), why
	}
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("damaged headers: %v", p)
		}
	}()
	f, err = elf.NewFile(io.NewSectionReader(r, 0, size))
	return f, left, err
}

// Open opens a file by its path, a regular one only. The caller closes it, not before the last use of the elf.File.
func Open(path string) (f *elf.File, file *os.File, err error) {
	if file, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil {
		f, _, err = NewFile(file, info.Size())
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return f, file, nil
}

// layout is where the two classes of ELF have what is looked at (elf(5)).
type layout struct {
	header, shoff, shnum          int // shnum: shentsize lies before it, shstrndx behind it
	entry                         int // size of a section header
	flagsAt, offAt, sizeAt, width int
}

var (
	layout64 = layout{header: 64, shoff: 40, shnum: 60, entry: 64, flagsAt: 8, offAt: 24, sizeAt: 32, width: 8}
	layout32 = layout{header: 52, shoff: 32, shnum: 48, entry: 40, flagsAt: 8, offAt: 16, sizeAt: 20, width: 4}
)

// incredible says why section headers are not to be believed; "" if they may be read, and where debug/elf will say what is wrong.
func incredible(r io.ReaderAt, size int64) string {
	head := make([]byte, 64)
	if n, _ := r.ReadAt(head, 0); n < 52 || string(head[:4]) != elf.ELFMAG {
		return ""
	}
	l, order := layout64, binary.ByteOrder(binary.LittleEndian)
	if elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS32 {
		l = layout32
	}
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	shoff := l.word(order, head[l.shoff:])
	entry, n, names := int(order.Uint16(head[l.shnum-2:])), int(order.Uint16(head[l.shnum:])), int(order.Uint16(head[l.shnum+2:]))
	switch {
	case shoff == 0:
		return ""
	case n == 0 || n > maxSections:
		return "the file claims more section headers than any program has"
	case entry != l.entry:
		return fmt.Sprintf("section headers of %d bytes are not known", entry)
	case shoff > uint64(size) || uint64(n*entry) > uint64(size)-shoff:
		return fmt.Sprintf("%d section headers at %#x lie outside of the file; is it truncated?", n, shoff)
	case names >= n:
		return "the table of the sections' names is missing"
	}
	table := make([]byte, n*entry)
	if k, err := r.ReadAt(table, int64(shoff)); k < len(table) {
		return fmt.Sprintf("section headers cannot be read: %v", err)
	}
	return l.badNames(r, order, table, names, size)
}

func (l *layout) word(order binary.ByteOrder, b []byte) uint64 {
	if l.width == 8 {
		return order.Uint64(b)
	}
	return uint64(order.Uint32(b))
}

// badNames looks at the table of the sections' names.
func (l *layout) badNames(r io.ReaderAt, order binary.ByteOrder, table []byte, index int, size int64) string {
	h := table[index*l.entry:]
	off, n := l.word(order, h[l.offAt:]), l.word(order, h[l.sizeAt:])
	switch {
	case index == 0:
		return ""
	case l.word(order, h[l.flagsAt:])&uint64(elf.SHF_COMPRESSED) != 0:
		return "the table of the sections' names is compressed, which no linker does"
	case n > maxNameTable || off > uint64(size) || n > uint64(size)-off:
		return fmt.Sprintf("the table of the sections' names claims %d bytes", n)
	}
	names := make([]byte, n)
	if k, err := r.ReadAt(names, int64(off)); k < len(names) {
		return fmt.Sprintf("the table of the sections' names cannot be read: %v", err)
	}
	all := 0
	for ; len(table) >= l.entry; table = table[l.entry:] {
		if at := uint64(order.Uint32(table)); at < n {
			all += max(bytes.IndexByte(names[at:], 0), 0)
		}
	}
	if all > maxNames {
		return fmt.Sprintf("the names of the sections have %d bytes", all)
	}
	return ""
}

// sectionless is a file whose header says that there are no section headers.
type sectionless struct {
	io.ReaderAt
	head []byte
}

func withoutSections(r io.ReaderAt) io.ReaderAt {
	head := make([]byte, 64)
	n, _ := r.ReadAt(head, 0)
	head = head[:n]
	l := layout64
	if len(head) > elf.EI_CLASS && elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS32 {
		l = layout32
	}
	if len(head) >= l.header {
		clear(head[l.shoff : l.shoff+l.width])
		clear(head[l.shnum : l.shnum+4])
	}
	return &sectionless{r, head}
}

// ReadAt reads the file with the changed header.
func (s *sectionless) ReadAt(b []byte, off int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(b, off)
	if off >= 0 && off < int64(len(s.head)) {
		copy(b[:n], s.head[off:])
	}
	return n, err
}
