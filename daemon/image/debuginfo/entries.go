package debuginfo

import (
	"debug/dwarf"
	"errors"

	"culprit/daemon/image/elffile"
)

var ErrManyEntries = errors.New("DWARF does not come to an end: damaged or hostile")

// tagParameterPack is DW_TAG_GNU_formal_parameter_pack, for which package dwarf has no name.
const tagParameterPack dwarf.Tag = 0x4108

// maxStarts bounds the parts of a function that are looked at.
const maxStarts = 16

// Entries reads single entries of DWARF.
type Entries struct {
	data *dwarf.Data
	r    *dwarf.Reader
	left int // entries that may still be read
}

// Entries is a reader of left entries at most; nil if there is no DWARF.
func (x *Units) Entries(left int) *Entries {
	d := x.data()
	if d == nil {
		return nil
	}
	return &Entries{data: d, r: d.Reader(), left: left}
}

// Next reads the entry behind the one that was read last. It fails when too many were read.
func (d *Entries) Next() (*dwarf.Entry, error) {
	if d.left--; d.left < 0 {
		return nil, ErrManyEntries
	}
	e, err := d.r.Next()
	if err == nil && e == nil {
		err = errors.New("DWARF ends within an entry")
	}
	if e != nil {
		d.left -= weigh(e)
	}
	return e, err
}

// weigh is how much more than an ordinary entry one cost to read.
func weigh(e *dwarf.Entry) int { return textOf(e)/256 + len(e.Field)/32 }

// textOf is how many bytes the strings of an entry have.
func textOf(e *dwarf.Entry) (n int) {
	for i := range e.Field {
		if s, ok := e.Field[i].Val.(string); ok {
			n += len(s)
		}
	}
	return n
}

// At reads the entry at an offset.
func (d *Entries) At(off dwarf.Offset) (*dwarf.Entry, error) {
	d.r.Seek(off)
	return d.Next()
}

// Children calls f for each child of the entry at off until f says that it was the last one wanted. f must not move the reader.
// What a pack of C++ parameters holds counts as children of the function.
func (d *Entries) Children(off dwarf.Offset, f func(e *dwarf.Entry) (more bool)) error {
	e, err := d.At(off)
	if err != nil || !e.Children {
		return err
	}
	for packs := 0; ; {
		e, err := d.Next()
		switch {
		case err != nil:
			return err
		case e.Tag == 0 && packs > 0:
			packs--
		case e.Tag == 0 || !f(e):
			return nil
		case e.Children && e.Tag == tagParameterPack:
			packs++
		case e.Children:
			if err := d.Skip(e); err != nil {
				return err
			}
		}
	}
}

// Skip passes over the children of the entry that was read last.
func (d *Entries) Skip(e *dwarf.Entry) error {
	// Reader.SkipChildren would do it, but where the next sibling is said to lie before its children it calls itself for each level of them.
	if next, ok := e.Val(dwarf.AttrSibling).(dwarf.Offset); ok && next > e.Offset {
		d.r.Seek(next)
		return nil
	}
	for depth := 1; depth > 0; {
		e, err := d.Next()
		switch {
		case err != nil:
			return err
		case e.Tag == 0:
			depth--
		case e.Children:
			depth++
		}
	}
	return nil
}

// eachBelow reads all entries below the root of a unit; one that cannot be read tells nothing. The error is that no more may be read.
func (d *Entries) eachBelow(root dwarf.Offset, visit func(e *dwarf.Entry)) error {
	e, err := d.At(root)
	if err != nil || !e.Children {
		return nil
	}
	for depth := 1; depth > 0; {
		e, err := d.Next()
		if err != nil {
			return err
		}
		if e.Tag == 0 {
			depth--
			continue
		}
		visit(e)
		if e.Children {
			depth++
		}
	}
	return nil
}

// Ranges are those of the code of an entry.
func (d *Entries) Ranges(e *dwarf.Entry) ([][2]uint64, error) {
	list, err := d.data.Ranges(e)
	d.left -= len(list) / 8
	return list, err
}

// Starts are where the parts of a function begin: one of them is its entry.
func (d *Entries) Starts(e *dwarf.Entry) (list []uint64) {
	if low, ok := e.Val(dwarf.AttrLowpc).(uint64); ok {
		return []uint64{low}
	}
	if e.Val(dwarf.AttrRanges) == nil {
		return nil
	}
	ranges, err := d.Ranges(e)
	for i := range ranges {
		if err == nil && i < maxStarts {
			list = append(list, ranges[i][0])
		}
	}
	return list
}

// Chain is the entry of a function and those that it refers to: the inline one that it is made of, and its declaration in a class.
func (d *Entries) Chain(off dwarf.Offset) (list []*dwarf.Entry, err error) {
	for range 4 {
		e, err := d.At(off)
		if err != nil {
			return list, err
		}
		list = append(list, e)
		next, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if next, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return list, nil
			}
		}
		off = next
	}
	return list, nil
}

// NameOf is the name of an entry, "" if it has none.
func NameOf(e *dwarf.Entry) string {
	s, _ := e.Val(dwarf.AttrName).(string)
	return elffile.ValidText(s)
}

// IntOf is a number among the attributes of an entry.
func IntOf(e *dwarf.Entry, a dwarf.Attr, otherwise int64) int64 {
	if n, ok := e.Val(a).(int64); ok {
		return n
	}
	return otherwise
}

// Version is the version of DWARF of the unit whose root entry is given.
func (x *Units) Version(root dwarf.Offset) (version uint16) {
	info := x.sections[".debug_info"]
	for off := uint64(0); off+16 <= uint64(len(info)) && off <= uint64(root); {
		n, head := uint64(elffile.U32(info[off:])), off+4
		if n == 0xffffffff {
			n, head = elffile.U64(info[off+4:]), off+12
		}
		if elffile.Sub(info, head, n) == nil || n < 8 {
			break
		}
		version, off = elffile.U16(info[head:]), head+n
	}
	return version
}
