package types

import (
	"debug/dwarf"
	"errors"
	"fmt"

	"culprit/daemon/image/debuginfo"
	"culprit/daemon/image/elffile"
)

// maxKnown bounds the names that an error lists.
const maxKnown = 100

// A member is a field that was found in a structure.
type member struct {
	off int64
	typ *typeRef
}

// A finder looks for a member in a structure, in those without a name inside of it, and in its base classes.
type finder struct {
	d     *dies
	name  string
	known []string
}

// member finds a field of a record by its name.
func (d *dies) member(t ctype, name string) (member, error) {
	t, err := d.defined(t)
	if err != nil {
		return member{}, err
	}
	f := &finder{d: d, name: name}
	m, err := f.in(t.self.Offset, 0)
	if err == nil && m == nil {
		err = &ErrNoSuch{What: "field", Name: name, Of: t.describe(), Known: f.known}
	}
	if err != nil {
		return member{}, err
	}
	return *m, nil
}

// in looks through one record; nil if it has no such member.
func (f *finder) in(off dwarf.Offset, depth int) (*member, error) {
	if depth > maxInside {
		return nil, errors.New("structures lie inside of each other without end")
	}
	var own *dwarf.Entry
	var inner []*dwarf.Entry
	err := f.d.Children(off, func(e *dwarf.Entry) bool {
		switch name := debuginfo.NameOf(e); {
		case e.Tag == dwarf.TagInheritance || e.Tag == dwarf.TagMember && name == "":
			inner = append(inner, e)
		case e.Tag != dwarf.TagMember:
		case name == f.name:
			own = e
		case len(f.known) < maxKnown:
			f.known = append(f.known, name)
		}
		return own == nil && len(inner) < 1<<10
	})
	if err != nil || own != nil {
		return f.found(own, err)
	}
	for _, e := range inner {
		if m, err := f.inner(e, depth); m != nil || err != nil {
			return m, err
		}
	}
	return nil, nil
}

// found is the member itself.
func (f *finder) found(e *dwarf.Entry, err error) (*member, error) {
	if err != nil {
		return nil, err
	}
	if e.Val(dwarf.AttrBitSize) != nil {
		return nil, fmt.Errorf("the field %s is a bit field, which probes cannot read", f.name)
	}
	off, ok := memberOffset(e)
	if ok {
		return &member{off, typeRefOf(e)}, nil
	}
	return nil, fmt.Errorf("the field %s has no fixed place in its structure (it is static, or of a virtual base)", f.name)
}

// inner looks into a member without a name, or a base class.
func (f *finder) inner(e *dwarf.Entry, depth int) (*member, error) {
	t, err := f.d.resolve(typeRefOf(e))
	if err != nil || t.kind != tRecord || t.declared {
		return nil, nil // one that cannot be followed has nothing that we know
	}
	m, err := f.in(t.self.Offset, depth+1)
	if m == nil || err != nil {
		return nil, err
	}
	off, ok := memberOffset(e)
	if !ok {
		return nil, fmt.Errorf("the field %s is in a virtual base, which has no fixed place", f.name)
	}
	m.off += off
	return m, nil
}

// memberOffset is DW_AT_data_member_location: a number, or DW_OP_plus_uconst in old DWARF. Members of unions have none.
func memberOffset(e *dwarf.Entry) (off int64, ok bool) {
	switch v := e.Val(dwarf.AttrDataMemberLoc).(type) {
	case int64:
		return v, v >= 0 && v <= maxRecord
	case []byte:
		const plusUconst = 0x23
		r := elffile.Reader{Rest: v}
		if r.Byte() != plusUconst {
			return 0, false
		}
		n := r.ULEB()
		return int64(n), !r.Bad && len(r.Rest) == 0 && n <= maxRecord
	case nil:
		static, _ := e.Val(dwarf.AttrExternal).(bool)
		declared, _ := e.Val(dwarf.AttrDeclaration).(bool)
		return 0, !static && !declared && e.Val(attrDataBits) == nil
	}
	return 0, false
}
