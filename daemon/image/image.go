package image

import (
	"io"
	"sync"
	"sync/atomic"

	"culprit/daemon/image/debuginfo"
	"culprit/daemon/image/elffile"
	"culprit/daemon/image/lazy"
	"culprit/daemon/image/types"
	"culprit/daemon/image/unwind"
)

// ErrRefused says that a function or point cannot be instrumented safely, and why.
type ErrRefused struct {
	Point  string
	Reason string
}

// Error names the point and the reason.
func (e *ErrRefused) Error() string { return e.Point + " refused: " + e.Reason }

// A Range is [Lo, Hi) of virtual addresses.
type Range struct{ Lo, Hi uint64 }

// Contains reports whether addr lies in the range.
func (r Range) Contains(addr uint64) bool { return addr-r.Lo < r.Hi-r.Lo }

// An Object is one ELF file. It keeps the io.ReaderAt it was opened with and reads from it later; it has nothing to close.
type Object struct {
	elf    *elffile.File
	frames *unwind.Table   // call frame information
	dwarf  *debuginfo.Info // units, lines, inlined functions
	types  *types.Info     // arguments, results, variables
	isGo   bool

	demangling atomic.Int64 // ns that names have taken
	leftOut    sync.Once    // some names were too dear

	table    lazy.Value[*functionTable]
	names    lazy.Value[names] // in the symbol tables
	parts    sync.Map          // string to bool: whether it stands in the linkage name of a symbol
	byModule lazy.Value[map[string][]*Function]
	relocs   lazy.Value[*relocations]
	seqs     lazy.Value[*sequences]
	xrefs    lazy.Value[*xref]
	cxx      lazy.Value[bool] // code of C++
	mentions lazy.Value[bool] // the name of a function that leaves for another stack

	data    dataTable
	flows   flows
	callees flows // of functions whose flow nobody asked for: calls and exits only
}

// Open reads the headers of an ELF file of size bytes; name is what people see ("libc.so.6"). The rest is read when it is
// asked for. A file that is not x86-64 ELF gives *elffile.ErrUnsupported; a damaged one gives an error that says what is wrong.
func Open(r io.ReaderAt, size int64, name string) (o *Object, err error) {
	defer lazy.Guard(&err, name)
	f, err := elffile.Open(r, size, name)
	if err != nil {
		return nil, err
	}
	dwarf := debuginfo.New(f)
	o = &Object{elf: f, frames: unwind.New(f), dwarf: dwarf, types: types.New(f, dwarf)}
	o.isGo = o.linkedByGo()
	return o, nil
}

// Name is the display name the object was opened with.
func (o *Object) Name() string { return o.elf.Name() }

// BuildID is the GNU build-id in lower-case hexadecimal, or "" if the file has none.
func (o *Object) BuildID() string { return o.elf.BuildID() }

// Kind says whether the object has fixed addresses.
func (o *Object) Kind() elffile.Kind { return o.elf.Kind() }

// IsGo reports whether the object was linked by the Go tool chain.
func (o *Object) IsGo() bool { return o.isGo }

// Segments lists the PT_LOAD program headers in file order.
func (o *Object) Segments() []elffile.Segment { return o.elf.Segments() }

// Code gives the bytes of [lo, hi), which must lie in one executable section. The caller must not change them.
func (o *Object) Code(lo, hi uint64) ([]byte, error) { return o.elf.Code(lo, hi) }

// CodeRead is Code where the file need not be read for it; nil where it must.
func (o *Object) CodeRead(lo, hi uint64) []byte { return o.elf.CodeRead(lo, hi) }

// OnLeftOut has tell called with everything in the file that is not read since it claims too much: what was found so far, and what is found
// from now on. tell may be called from any goroutine, and must not call the object.
func (o *Object) OnLeftOut(tell func(text string)) { o.elf.OnLeftOut(tell) }

// LiesIn says where the object lies, for its debug file may lie there too. To be called before anything else is asked of the object.
func (o *Object) LiesIn(root elffile.Root, dir string) { o.elf.LiesIn(root, dir) }

// HasDwarf reports whether there is DWARF that counts as the object's own: see elffile.File.DescribesItself. There may be some that does not.
func (o *Object) HasDwarf() bool { return o.dwarf.Own() }

// oftenEnough is in how many steps of a loop ended is asked once.
const oftenEnough = 1 << 12
