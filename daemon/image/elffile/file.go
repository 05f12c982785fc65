package elffile

import (
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"sync/atomic"

	"culprit/daemon/image/lazy"
	"culprit/internal/safeelf"
)

// ErrUnsupported says that the file is of a kind that cannot be handled. Needs says what could be.
type ErrUnsupported struct {
	What  string
	Needs string
}

// Error says what is not supported and what is needed instead.
func (e *ErrUnsupported) Error() string { return e.What + " is not supported; needs " + e.Needs }

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

// A File is one ELF file. It keeps the io.ReaderAt it was opened with and reads from it later; it has nothing to close.
type File struct {
	name     string
	kind     Kind
	size     int64
	r        io.ReaderAt
	headers  *elf.File
	segments []Segment
	sections []*Section // sorted by Addr
	buildID  string
	share    *share

	unread    atomic.Bool       // something that is loaded into memory could not be read, or not in whole
	root      Root              // of the process that maps the object, nil if that is not known
	dir       string            // where it lies below the root
	beside    bool              // of a debug file: it lies where the object does
	debug     lazy.Value[*File] // separate debug file, nil if there is none
	describes lazy.Value[bool]  // DescribesItself
}

// Open reads the headers of an ELF file of size bytes; name is what people see ("libc.so.6"). The rest is read when it is
// asked for. A file that is not x86-64 ELF gives *ErrUnsupported; a damaged one gives an error that says what is wrong.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	return openFile(r, size, name, true)
}

func openFile(r io.ReaderAt, size int64, name string, withDebug bool) (f *File, err error) {
	defer lazy.Guard(&err, name)
	headers, left, err := safeelf.NewFile(r, size)
	if err != nil {
		return nil, fmt.Errorf("%s: not a usable ELF file: %w", name, err)
	}
	if err := checkMachine(headers); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f = &File{name: name, size: size, r: r, headers: headers, kind: KindDyn}
	f.share = newShare(f)
	if left != "" {
		f.LeftOut("the section headers of %s were not read, nor its debug information: %s", name, left)
	}
	if headers.Type == elf.ET_EXEC {
		f.kind = KindExec
	}
	if err := f.readSegments(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.readSections()
	f.buildID = f.readBuildID()
	if !withDebug {
		f.debug.Set(nil)
	}
	return f, nil
}

// Name is the display name the object was opened with.
func (f *File) Name() string { return f.name }

// BuildID is the GNU build-id in lower-case hexadecimal, or "" if the file has none.
func (f *File) BuildID() string { return f.buildID }

// Kind says whether the object has fixed addresses.
func (f *File) Kind() Kind { return f.kind }

// Segments lists the PT_LOAD program headers in file order.
func (f *File) Segments() []Segment { return f.segments }

// Sections lists the section headers by Addr. Without any, the segments stand in for them.
func (f *File) Sections() []*Section { return f.sections }

// Ended is an error when nothing is to be read of the file any more: whoever opened it may want to end, and what loops over much that was
// read before asks from time to time.
func (f *File) Ended() error {
	var b [1]byte
	if n, err := f.r.ReadAt(b[:], 0); n == 0 {
		return err
	}
	return nil
}

// readBuildID looks into the note sections and, if the file has no section headers, into PT_NOTE.
func (f *File) readBuildID() string {
	for _, s := range f.sections {
		if s.Type == elf.SHT_NOTE {
			if id := buildIDOf(s.Bytes()); id != "" {
				return id
			}
		}
	}
	for _, p := range f.headers.Progs {
		if p.Type == elf.PT_NOTE {
			b, err := f.readFile(p.Off, min(p.Filesz, 1<<16))
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
		nameSize, descSize, typ := U32(b), U32(b[4:]), U32(b[8:])
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

// Size is the size of the file in bytes.
func (f *File) Size() int64 { return f.size }

// MarkUnread notes that something that is loaded into memory is not known, or not in whole.
func (f *File) MarkUnread() { f.unread.Store(true) }

// Unread reports whether something that is loaded into memory could not be read, or not in whole: who jumps where is not known then.
func (f *File) Unread() bool { return f.unread.Load() }

// FrameHeader is where the program headers say that the header of .eh_frame is (PT_GNU_EH_FRAME): address and size in the file.
func (f *File) FrameHeader() (addr, size uint64, ok bool) {
	for _, p := range f.headers.Progs {
		if p.Type == elf.PT_GNU_EH_FRAME {
			return p.Vaddr, p.Filesz, true
		}
	}
	return 0, 0, false
}
