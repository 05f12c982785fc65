package types

import (
	"debug/dwarf"
	"errors"
	"fmt"

	"culprit/daemon/image/debuginfo"
)

// Bounds on DWARF: entries that one question may read, links from a type to the one that it stands for, members within members,
// and the size of a structure in bytes.
const (
	maxEntries = 1 << 18
	maxLinks   = 64
	maxInside  = 16
	maxRecord  = 1 << 30
)

// dies reads entries of DWARF, and the types that they lead to. Types are followed by hand rather than by dwarf.Data.Type, which is recursive
// and reads all that a type leads to.
type dies struct {
	*debuginfo.Entries
	x *Info
}

// dies is a new reader of entries; nil if there is no DWARF.
func (x *Info) dies(left int) *dies {
	e := x.dwarf.Units().Entries(left)
	if e == nil {
		return nil
	}
	return &dies{Entries: e, x: x}
}

// A tkind is what a type is for us.
type tkind uint8

const (
	tVoid tkind = iota
	tInteger
	tFloat
	tComplex
	tVector
	tPointer
	tReference
	tRecord
	tArray
	tWide     // 128 bits
	tToMember // C++: pointer to member
	tOther
)

// A ctype is a type without typedefs and qualifiers.
type ctype struct {
	kind     tkind
	name     string // as in the source, "" if it has none
	word     string // struct, class, union
	size     int64
	signed   bool
	char     bool
	declared bool  // and not defined here
	passed   int64 // DW_AT_calling_convention
	self     *dwarf.Entry
	elem     *typeRef // of a pointer, a reference, an array
	count    int64    // of an array
}

// A typeRef is a link to a type.
type typeRef struct {
	off  dwarf.Offset
	none bool   // void
	bad  string // why it cannot be followed
}

// Attributes and tags that package dwarf has no names for.
const (
	attrVector       dwarf.Attr = 0x2107 // DW_AT_GNU_vector
	attrSignature    dwarf.Attr = 0x69
	attrLoclistsBase dwarf.Attr = 0x8c
	attrDataBits     dwarf.Attr = 0x6b
	passByReference             = 4 // DW_CC_pass_by_reference
	noCall                      = 3 // DW_CC_nocall
)

// typeRefOf is the link in DW_AT_type of an entry.
func typeRefOf(e *dwarf.Entry) *typeRef {
	switch v := e.Val(dwarf.AttrType).(type) {
	case nil:
		return &typeRef{none: true}
	case dwarf.Offset:
		return &typeRef{off: v}
	case uint64:
		return &typeRef{bad: "its type is in a type unit: build without -fdebug-types-section"}
	}
	return &typeRef{bad: "its type is in another file, where dwz has put it"}
}

// resolve follows a link through typedefs and qualifiers to the type itself.
func (d *dies) resolve(ref *typeRef) (ctype, error) {
	name := ""
	for range maxLinks {
		switch {
		case ref == nil || ref.none:
			return ctype{kind: tVoid, name: name}, nil
		case ref.bad != "":
			return ctype{}, errors.New(ref.bad)
		}
		e, err := d.At(ref.off)
		if err != nil {
			return ctype{}, err
		}
		switch e.Tag {
		case dwarf.TagTypedef, dwarf.TagTemplateAlias:
			if name == "" {
				name = debuginfo.NameOf(e)
			}
			ref = typeRefOf(e)
		case dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType, dwarf.TagPackedType, dwarf.TagSharedType:
			ref = typeRefOf(e)
		default:
			t, err := d.typeFrom(e)
			if own := debuginfo.NameOf(e); own != "" {
				name = own
			}
			t.name = name
			return t, err
		}
	}
	return ctype{}, errors.New("a type stands for another without end")
}

// typeFrom reads the entry of a type.
func (d *dies) typeFrom(e *dwarf.Entry) (ctype, error) {
	t := ctype{kind: tOther, self: e, size: debuginfo.IntOf(e, dwarf.AttrByteSize, 0), elem: typeRefOf(e)}
	switch e.Tag {
	case dwarf.TagBaseType:
		t.base(e)
	case dwarf.TagPointerType:
		t.kind, t.size = tPointer, 8
	case dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		t.kind, t.size = tReference, 8
	case dwarf.TagUnspecifiedType: // decltype(nullptr)
		t.kind, t.size, t.elem = tPointer, 8, nil
	case dwarf.TagPtrToMemberType:
		return t, d.toMember(&t)
	case dwarf.TagEnumerationType:
		return t, d.enum(e, &t)
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		t.record(e)
	case dwarf.TagArrayType:
		return t, d.array(e, &t)
	}
	return t, nil
}

// Encodings of base types (DWARF 5, 7.8).
const (
	ateAddress      = 1
	ateBoolean      = 2
	ateComplex      = 3
	ateFloat        = 4
	ateSigned       = 5
	ateSignedChar   = 6
	ateUnsigned     = 7
	ateUnsignedChar = 8
	ateUTF          = 0x10
)

func (t *ctype) base(e *dwarf.Entry) {
	enc := debuginfo.IntOf(e, dwarf.AttrEncoding, 0)
	switch enc {
	case ateFloat:
		t.kind = tFloat
	case ateComplex:
		t.kind = tComplex
	case ateAddress, ateBoolean, ateSigned, ateSignedChar, ateUnsigned, ateUnsignedChar, ateUTF:
		t.kind = tInteger
		t.signed = enc == ateSigned || enc == ateSignedChar
		t.char = t.size == 1 && (enc == ateSignedChar || enc == ateUnsignedChar || enc == ateUTF)
		if t.size == 16 {
			t.kind = tWide
		}
		if e.Val(dwarf.AttrBitSize) != nil { // _BitInt
			t.kind = tOther
		}
	}
}

func (d *dies) toMember(t *ctype) error {
	t.kind, t.size = tToMember, 8
	if t.elem.none || t.elem.bad != "" {
		return nil
	}
	e, err := d.At(t.elem.off)
	if err == nil && e.Tag == dwarf.TagSubroutineType {
		t.size = 16
	}
	return err
}

func (d *dies) enum(e *dwarf.Entry, t *ctype) error {
	t.kind, t.elem = tInteger, nil
	enc := debuginfo.IntOf(e, dwarf.AttrEncoding, 0)
	t.signed = enc == ateSigned || enc == ateSignedChar
	ref := typeRefOf(e)
	if ref.none || ref.bad != "" {
		return nil
	}
	under, err := d.resolveBase(ref)
	t.signed = under.signed
	if t.size == 0 {
		t.size = under.size
	}
	return err
}

// resolveBase resolves a link that may lead to a base type only.
func (d *dies) resolveBase(ref *typeRef) (t ctype, err error) {
	for range maxLinks {
		e, err := d.At(ref.off)
		if err != nil {
			return t, err
		}
		if e.Tag == dwarf.TagBaseType {
			t.size = debuginfo.IntOf(e, dwarf.AttrByteSize, 0)
			t.base(e)
			return t, nil
		}
		if ref = typeRefOf(e); ref.none || ref.bad != "" {
			break
		}
	}
	return t, nil
}

func (t *ctype) record(e *dwarf.Entry) {
	t.kind, t.elem = tRecord, nil
	t.word = map[dwarf.Tag]string{dwarf.TagStructType: "struct", dwarf.TagClassType: "class", dwarf.TagUnionType: "union"}[e.Tag]
	t.declared, _ = e.Val(dwarf.AttrDeclaration).(bool)
	t.passed = debuginfo.IntOf(e, dwarf.AttrCalling, 0)
}

func (d *dies) array(e *dwarf.Entry, t *ctype) error {
	t.kind = tArray
	if v, _ := e.Val(attrVector).(bool); v {
		t.kind = tVector
	}
	dims := 0
	err := d.Children(e.Offset, func(c *dwarf.Entry) bool {
		if c.Tag == dwarf.TagSubrangeType {
			dims++
			t.count = debuginfo.IntOf(c, dwarf.AttrCount, debuginfo.IntOf(c, dwarf.AttrUpperBound, -1)+1)
		}
		return true
	})
	if dims > 1 {
		t.elem = nil // of arrays
	}
	if t.count < 0 || t.count > maxRecord {
		t.count = 0
	}
	if t.kind == tVector && t.size == 0 && err == nil {
		elem, err := d.resolve(t.elem)
		t.size = elem.size * t.count
		return err
	}
	return err
}

// loadable tells whether it is a number.
func (t *ctype) loadable() bool {
	if t.kind != tInteger && t.kind != tPointer && t.kind != tReference {
		return false
	}
	return t.size == 1 || t.size == 2 || t.size == 4 || t.size == 8
}

// describe is the type for people.
func (t *ctype) describe() string {
	name := t.name
	if name == "" {
		name = "without a name"
	}
	switch t.kind {
	case tVoid:
		return "void"
	case tFloat, tComplex:
		return "a floating-point number (" + name + ")"
	case tVector:
		return "a vector (" + name + ")"
	case tPointer:
		return "a pointer"
	case tReference:
		return "a reference"
	case tRecord:
		return t.word + " " + name
	case tArray:
		return "an array"
	case tToMember:
		return "a pointer to a member"
	case tInteger, tWide:
		return fmt.Sprintf("a number of %d bytes (%s)", t.size, name)
	}
	return "of a kind that is not known"
}
