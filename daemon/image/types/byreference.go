package types

import (
	"debug/dwarf"

	"culprit/daemon/image/debuginfo"
)

// Attributes of members of classes (DWARF 5, 7.5.4) that package dwarf has no names for.
const (
	attrDefaulted dwarf.Attr = 0x8b
	attrDeleted   dwarf.Attr = 0x8a
	inClass                  = 1 // DW_DEFAULTED_in_class
)

// byReference tells whether a class is passed by a pointer to a copy: it, or what it is made of, has a destructor or a way to be
// copied of its own, or virtual functions (Itanium C++ ABI, "non-trivial for the purposes of calls"). Newer compilers say it.
func (d *dies) byReference(t ctype, depth int) (bool, error) {
	switch {
	case t.kind != tRecord:
		return false, nil
	case t.passed != 0:
		return t.passed == passByReference, nil
	case t.declared || depth > maxInside:
		return false, errUnknownABI
	case t.self.Val(dwarf.AttrContainingType) != nil: // it has a table of virtual functions
		return true, nil
	}
	own, err := d.copiesItself(t)
	if own || err != nil {
		return own, err
	}
	list, err := d.membersOf(t)
	for _, e := range list {
		if err != nil || own {
			break
		}
		if virtual, _ := e.Val(dwarf.AttrVirtuality).(int64); virtual != 0 {
			return true, nil
		}
		if static, _ := e.Val(dwarf.AttrExternal).(bool); static {
			continue
		}
		own, err = d.memberByReference(typeRefOf(e), depth)
	}
	return own, err
}

func (d *dies) memberByReference(ref *typeRef, depth int) (bool, error) {
	m, err := d.resolve(ref)
	if err == nil && m.kind == tArray {
		m, err = d.resolve(m.elem)
	}
	if err != nil {
		return false, err
	}
	return d.byReference(m, depth+1)
}

// copiesItself tells whether a class has a destructor, or a constructor from one of its kind, that a programmer has written.
func (d *dies) copiesItself(t ctype) (bool, error) {
	name := debuginfo.NameOf(t.self)
	var constructors []*dwarf.Entry
	found := false
	err := d.Children(t.self.Offset, func(e *dwarf.Entry) bool {
		artificial, _ := e.Val(dwarf.AttrArtificial).(bool)
		deleted, _ := e.Val(attrDeleted).(bool)
		switch own := debuginfo.NameOf(e); {
		case e.Tag != dwarf.TagSubprogram || name == "" || artificial || deleted || debuginfo.IntOf(e, attrDefaulted, 0) == inClass:
		case debuginfo.IntOf(e, dwarf.AttrVirtuality, 0) != 0 || own == "~"+baseOf(name):
			found = true
		case own == baseOf(name):
			constructors = append(constructors, e)
		}
		return !found && len(constructors) < 64
	})
	for _, e := range constructors {
		if found || err != nil {
			break
		}
		found, err = d.copies(e, t)
	}
	return found, err
}

// baseOf is the name of a class without the parameters of its template.
func baseOf(name string) string {
	for i := range len(name) {
		if name[i] == '<' {
			return name[:i]
		}
	}
	return name
}

// copies tells whether the first real parameter of a constructor is a reference to its own class.
func (d *dies) copies(constructor *dwarf.Entry, t ctype) (bool, error) {
	list, _, err := d.params(constructor.Offset)
	if err != nil || len(list) < 2 {
		return false, err
	}
	p, err := d.resolve(typeRefOf(list[1]))
	if err != nil || p.kind != tReference {
		return false, err
	}
	to, err := d.resolve(p.elem)
	return err == nil && to.kind == tRecord && to.self.Offset == t.self.Offset, err
}
