// Package image is a read-only view of one ELF object: its functions, their code and flow of control, source lines and
// unwinding. It answers "what is where" about a file; it knows no process, no ptrace and no reason why something is measured.
//
// All addresses are virtual addresses of the file, as the ELF says; the caller adds the load bias. Nothing in a file is
// trusted: damaged or hostile contents give errors, never a panic, and memory stays within one allowance for all files (allowed).
//
// It may import trampoline/x86 (to decode) and must not import daemon/process, pcl, consultant or cmd.
// All methods of an Object may be called from any goroutine. What is expensive (call frame information, relocations, the pass
// over all code, DWARF) is read on first use and kept.
package image

import (
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"culprit/internal/safeelf"
)

// ErrUnsupported says that the file is of a kind that cannot be handled. Needs says what could be.
type ErrUnsupported struct {
	What  string
	Needs string
}

// Error says what is not supported and what is needed instead.
func (e *ErrUnsupported) Error() string { return e.What + " is not supported; needs " + e.Needs }

// ErrRefused says that a function or point cannot be instrumented safely, and why.
type ErrRefused struct {
	Point  string
	Reason string
}

// Error names the point and the reason.
func (e *ErrRefused) Error() string { return e.Point + " refused: " + e.Reason }

// Kind says how an object is loaded.
type Kind uint8

// The kinds.
const (
	KindExec Kind = iota + 1 // ET_EXEC: at its own addresses, the load bias is 0
	KindDyn                  // ET_DYN: anywhere (shared objects, position-independent executables)
)

// String is "exec" or "dyn".
func (k Kind) String() string {
	if k == KindExec {
		return "exec"
	}
	return "dyn"
}

// A Segment is a PT_LOAD program header. Sizes are in bytes.
type Segment struct {
	Off      uint64
	Vaddr    uint64
	FileSize uint64
	MemSize  uint64
	Exec     bool
}

// A Range is [Lo, Hi) of virtual addresses.
type Range struct{ Lo, Hi uint64 }

// Contains reports whether addr lies in the range.
func (r Range) Contains(addr uint64) bool { return addr-r.Lo < r.Hi-r.Lo }

// An Object is one ELF file. It keeps the io.ReaderAt it was opened with and reads from it later; it has nothing to close.
type Object struct {
	name    string
	kind    Kind
	size    int64
	r       io.ReaderAt
	file    *elf.File
	segs    []Segment
	secs    []*section
	buildID string
	isGo    bool
	share   *share

	demangling atomic.Int64 // ns that names have taken
	unread     atomic.Bool  // something that is loaded into memory could not be read, or not in whole: who jumps where is not known
	padsRead   atomic.Int64 // landing pads of all functions, as often as they were read

	table    lazy[*functionTable]
	names    lazy[names] // in the symbol tables
	byModule lazy[map[string][]*Function]
	frames   lazy[*frameIndex] // .eh_frame
	debugF   lazy[*frameIndex] // .debug_frame
	relocs   lazy[*relocations]
	seqs     lazy[*sequences]
	xrefs    lazy[*xref]
	units    lazy[*unitIndex]
	inlines  lazy[*inlineCounts]
	mentions lazy[bool]    // the name of a function that leaves for another stack
	debug    lazy[*Object] // separate debug file, nil if there is none

	subprograms subprogramCache

	lines lineCache
	data  dataTable
	flows flows
	rows  rowsKept
}

// Open reads the headers of an ELF file of size bytes; name is what people see ("libc.so.6"). The rest is read when it is
// asked for. A file that is not x86-64 ELF gives *ErrUnsupported; a damaged one gives an error that says what is wrong.
func Open(r io.ReaderAt, size int64, name string) (*Object, error) {
	return open(r, size, name, true)
}

func open(r io.ReaderAt, size int64, name string, withDebug bool) (o *Object, err error) {
	defer guard(&err, name)
	f, left, err := safeelf.NewFile(r, size)
	if err != nil {
		return nil, fmt.Errorf("%s: not a usable ELF file: %w", name, err)
	}
	if err := checkMachine(f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	o = &Object{name: name, size: size, r: r, file: f, kind: KindDyn}
	o.share = newShare(o)
	if left != "" {
		o.leftOut("the section headers of %s were not read, nor its debug information: %s", name, left)
	}
	if f.Type == elf.ET_EXEC {
		o.kind = KindExec
	}
	if err := o.readSegments(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	o.readSections()
	o.buildID = o.readBuildID()
	o.isGo = o.linkedByGo()
	if !withDebug {
		o.debug.set(nil)
	}
	return o, nil
}

func checkMachine(f *elf.File) error {
	switch {
	case f.Class != elf.ELFCLASS64 && f.Machine == elf.EM_X86_64:
		return &ErrUnsupported{What: "the x32 ABI (32-bit ELF)", Needs: "a 64-bit x86-64 ELF file"}
	case f.Class != elf.ELFCLASS64:
		return &ErrUnsupported{What: "a 32-bit ELF file", Needs: "a 64-bit x86-64 ELF file"}
	case f.Machine != elf.EM_X86_64 || f.Data != elf.ELFDATA2LSB:
		return &ErrUnsupported{What: "machine " + f.Machine.String(), Needs: "x86-64"}
	case f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN:
		return &ErrUnsupported{What: "ELF type " + f.Type.String(), Needs: "an executable or a shared object"}
	}
	return nil
}

// Name is the display name the object was opened with.
func (o *Object) Name() string { return o.name }

// BuildID is the GNU build-id in lower-case hexadecimal, or "" if the file has none.
func (o *Object) BuildID() string { return o.buildID }

// Kind says whether the object has fixed addresses.
func (o *Object) Kind() Kind { return o.kind }

// IsGo reports whether the object was linked by the Go tool chain.
func (o *Object) IsGo() bool { return o.isGo }

// Segments lists the PT_LOAD program headers in file order.
func (o *Object) Segments() []Segment { return o.segs }

// ended is an error when nothing is to be read of the file any more: whoever opened it may want to end, and what loops over much that was
// read before asks from time to time.
func (o *Object) ended() error {
	var b [1]byte
	if n, err := o.r.ReadAt(b[:], 0); n == 0 {
		return err
	}
	return nil
}

// oftenEnough is in how many steps of a loop ended is asked once.
const oftenEnough = 1 << 12

// guard turns a panic of a parser (ours or a library's) on hostile input into an error.
func guard(err *error, what string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: damaged file: %v", what, p)
	}
}

// lazy computes a value once, on first use, but never in a stop.
type lazy[T any] struct {
	once sync.Once
	done atomic.Bool // it is there
	val  T
	err  error
}

func (l *lazy[T]) set(v T) { l.once.Do(func() { l.val = v; l.done.Store(true) }) }

func (l *lazy[T]) get(what string, f func() (T, error)) (T, error) {
	if !l.done.Load() && InStop(what+": a table of it", func() { _, _ = l.get(what, f) }) {
		var none T
		return none, errInStop
	}
	l.once.Do(func() {
		defer l.done.Store(true)
		defer guard(&l.err, what)
		l.val, l.err = f()
	})
	return l.val, l.err
}

// readBuildID looks into the note sections and, if the file has no section headers, into PT_NOTE.
func (o *Object) readBuildID() string {
	for _, s := range o.secs {
		if s.typ == elf.SHT_NOTE {
			if id := buildIDOf(s.bytes()); id != "" {
				return id
			}
		}
	}
	for _, p := range o.file.Progs {
		if p.Type == elf.PT_NOTE {
			b, err := o.readFile(p.Off, min(p.Filesz, 1<<16))
			if err != nil {
				continue
			}
			if id := buildIDOf(b); id != "" {
				return id
			}
		}
	}
	return ""
}

// buildIDOf walks ELF notes for NT_GNU_BUILD_ID (type 3 of owner "GNU", elf(5)).
func buildIDOf(b []byte) string {
	for len(b) >= 12 {
		nameSize, descSize, typ := u32(b), u32(b[4:]), u32(b[8:])
		b = b[12:]
		nameEnd, descEnd := (uint64(nameSize)+3)&^3, (uint64(descSize)+3)&^3
		if nameEnd+descEnd > uint64(len(b)) {
			return ""
		}
		if typ == 3 && nameSize == 4 && string(b[:4]) == "GNU\x00" && descSize <= 64 {
			return hex.EncodeToString(b[nameEnd : nameEnd+uint64(descSize)])
		}
		b = b[nameEnd+descEnd:]
	}
	return ""
}
