package types

import (
	"fmt"

	"culprit/daemon/image/lazy"
)

// An ArgPath names what is reached from an argument of a function: by the name of the parameter, or by its number among what is
// passed as integers and pointers, and then by fields.
type ArgPath struct {
	Name   string // "" = by Index
	Index  int    // 0 to 5 in registers, then on the stack, 8 bytes each
	Fields []ArgField
	Text   bool // the address of characters is wanted, not a number
}

// An ArgField is a field of what a pointer leads to (Deref) or of what is there.
type ArgField struct {
	Name  string
	Deref bool
}

// An ArgPlace says how what an ArgPath names is found at the first instruction of its function: the value begins as a register, or
// as the stack pointer, and each load replaces it by what it finds from there.
type ArgPlace struct {
	Register int // 0 to 5: rdi, rsi, rdx, rcx, r8, r9; -1: the stack pointer, from where the first load reads what the caller has put there
	Loads    []ArgLoad
	Narrow   ArgLoad // of a register that nothing is loaded from: its Size bytes count
	Offset   int64   // of characters: they begin that many bytes from the value
	Room     int     // of characters: how many there are at most; 0 if only their end tells
}

// An ArgLoad reads Size bytes (1, 2, 4 or 8), extended with their sign if Signed, Offset bytes from an address.
type ArgLoad struct {
	Offset int64
	Size   uint8
	Signed bool
}

// ErrNoTypes says that nothing is known of the types of a function's arguments, and what would help.
type ErrNoTypes struct{ Reason string }

// Error is the reason.
func (e *ErrNoTypes) Error() string { return e.Reason }

// ErrNoSuch says that a parameter or a field does not exist, and which do (100 at most).
type ErrNoSuch struct {
	What, Name, Of string // "field", "lenght", "struct buffer"
	Known          []string
}

// Error names what was looked for.
func (e *ErrNoSuch) Error() string { return fmt.Sprintf("%s has no %s %q", e.Of, e.What, e.Name) }

// Argument finds an argument of a function, or what it leads to. The error is *ErrNoTypes, *ErrNoSuch, or says why it cannot be
// read. DWARF is read as far as the question needs it.
func (x *Info) Argument(f Func, path ArgPath) (p ArgPlace, err error) {
	defer lazy.Guard(&err, x.file.Name())
	s, err := x.signature(f)
	if err != nil {
		return p, ofCopy(f, err)
	}
	arg, err := s.find(path)
	if err != nil {
		return p, err
	}
	w, err := s.begin(arg)
	if err != nil {
		return p, err
	}
	for _, step := range path.Fields {
		if err := w.step(step); err != nil {
			return p, err
		}
	}
	switch {
	case path.Text:
		return w.text()
	case path.Name == "" && len(path.Fields) == 0 && arg.stack != 0 && !w.t.loadable():
		return w.word(path.Index), nil
	}
	return w.number()
}

// A walk follows fields and pointers from an argument.
type walk struct {
	d     *dies
	place ArgPlace
	what  string // as it was written up to here
	t     ctype
	inMem bool  // it lies in memory, off bytes from the value; else it is the value
	off   int64 // that was found so far
}

// maxLoads bounds the pointers that are followed: a probe evaluates one within the other.
const maxLoads = 5

// load makes what lies in memory the value.
func (w *walk) load() error {
	switch {
	case !w.t.loadable():
		return fmt.Errorf("%s is %s, which is no whole number of 1, 2, 4 or 8 bytes", w.what, w.t.describe())
	case !w.inMem && len(w.place.Loads) == 0:
		w.place.Narrow = ArgLoad{Size: uint8(w.t.size), Signed: w.t.signed}
		return nil
	case !w.inMem:
		return nil
	case len(w.place.Loads) == maxLoads:
		return fmt.Errorf("%s follows more than %d pointers", w.what, maxLoads)
	}
	w.place.Loads = append(w.place.Loads, ArgLoad{w.off, uint8(w.t.size), w.t.signed})
	w.inMem, w.off = false, 0
	return nil
}

// follow goes to what the pointer or the reference at hand leads to.
func (w *walk) follow() error {
	if err := w.load(); err != nil {
		return err
	}
	t, err := w.d.resolve(w.t.elem)
	w.t, w.inMem, w.off = t, true, 0
	return err
}

// settle follows references: C++ code does not show them.
func (w *walk) settle() error {
	for range maxLoads {
		if w.t.kind != tReference {
			return nil
		}
		if err := w.follow(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s is a reference to a reference", w.what)
}

func (w *walk) step(f ArgField) error {
	if err := w.settle(); err != nil {
		return err
	}
	switch {
	case f.Deref && w.t.kind == tRecord:
		return fmt.Errorf("%s is %s and no pointer: write .%s", w.what, w.t.describe(), f.Name)
	case f.Deref && w.t.kind != tPointer:
		return fmt.Errorf("%s is %s and no pointer", w.what, w.t.describe())
	case !f.Deref && w.t.kind == tPointer:
		return fmt.Errorf("%s is a pointer: write ->%s", w.what, f.Name)
	case !f.Deref && w.t.kind != tRecord:
		return fmt.Errorf("%s is %s, which has no fields", w.what, w.t.describe())
	}
	if f.Deref {
		if err := w.follow(); err != nil {
			return err
		}
		if w.t.kind != tRecord {
			return fmt.Errorf("%s leads to %s, which has no fields", w.what, w.t.describe())
		}
	}
	return w.field(f)
}

func (w *walk) field(f ArgField) error {
	if !w.inMem {
		return fmt.Errorf("%s is %s, passed by value in registers", w.what, w.t.describe())
	}
	m, err := w.d.member(w.t, f.Name)
	if err != nil {
		return err
	}
	w.what += map[bool]string{true: "->", false: "."}[f.Deref] + f.Name
	if w.off += m.off; w.off < 0 || w.off > maxRecord {
		return fmt.Errorf("%s lies %d bytes inside, which cannot be", w.what, w.off)
	}
	w.t, err = w.d.resolve(m.typ)
	return err
}

// number ends at a number.
func (w *walk) number() (ArgPlace, error) {
	if err := w.settle(); err != nil {
		return w.place, err
	}
	return w.place, w.load()
}

// word is 8 bytes of a structure that lies on the stack.
func (w *walk) word(index int) ArgPlace {
	return ArgPlace{Register: -1, Loads: []ArgLoad{{Offset: int64(index-argRegisters)*8 + 8, Size: 8}}}
}

// text ends at characters: char *, or char [].
func (w *walk) text() (ArgPlace, error) {
	if err := w.settle(); err != nil {
		return w.place, err
	}
	elem, err := w.d.resolve(w.t.elem)
	switch {
	case w.t.kind != tPointer && w.t.kind != tArray || err != nil || !elem.char:
		return w.place, fmt.Errorf("%s is %s, expected char * or char [] to compare it with a text", w.what, w.t.describe())
	case w.t.kind == tPointer:
		return w.place, w.load()
	}
	w.place.Offset, w.place.Room = w.off, int(w.t.count)
	return w.place, nil
}
