package types

import (
	"debug/dwarf"
	"fmt"

	"culprit/daemon/image/debuginfo"
)

// A structure may be declared where it is used and defined in another source file. Compilers leave out definitions, too, that they
// know to be elsewhere.

// definitions are the entries that define structures, by name.
type definitions map[string][]dwarf.Offset

// Bounds of the search for definitions: entries that are read, and definitions of one name that are looked at.
const (
	maxSearched = 16 << 20
	maxSame     = 64
)

// definitionsOf lists the definitions of all units.
func (x *Info) definitionsOf() (definitions, error) {
	return x.defined.Get("definitions", func() (definitions, error) {
		d, m := x.dies(maxSearched), definitions{}
		if d == nil {
			return nil, fmt.Errorf("DWARF is damaged")
		}
		for _, off := range x.dwarf.Units().Roots() {
			if err := d.collect(off, m); err != nil {
				return m, err
			}
		}
		return m, nil
	})
}

// collect lists the structures of a unit, also those in namespaces and in structures.
func (d *dies) collect(root dwarf.Offset, m definitions) error {
	e, err := d.At(root)
	if err != nil || !e.Children {
		return nil // a unit that cannot be read has no definitions
	}
	for depth := 1; depth > 0; {
		e, err := d.Next()
		if err != nil {
			return err
		}
		inside := e.Tag == dwarf.TagNamespace
		switch e.Tag {
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			inside = true
			name := debuginfo.NameOf(e)
			if declared, _ := e.Val(dwarf.AttrDeclaration).(bool); !declared && name != "" && len(m[name]) < maxSame {
				m[name] = append(m[name], e.Offset)
			}
		}
		switch {
		case e.Tag == 0:
			depth--
		case e.Children && inside:
			depth++
		case e.Children:
			if err := d.Skip(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// defined is the definition of a structure that is only declared where it was found.
func (d *dies) defined(t ctype) (ctype, error) {
	if !t.declared || t.kind != tRecord {
		return t, nil
	}
	all, err := d.x.definitionsOf()
	if err != nil {
		return t, err
	}
	var found *ctype
	for _, off := range all[t.name] {
		c, err := d.resolve(&typeRef{off: off})
		if err != nil || c.kind != tRecord || c.declared {
			continue
		}
		if found != nil && !sameOrigin(*found, c) {
			return t, fmt.Errorf("%s is defined in several ways, and only declared in this source file", t.describe())
		}
		found = &c
	}
	if found == nil {
		return t, fmt.Errorf("%s is only declared: DWARF has no definition of it", t.describe())
	}
	return *found, nil
}

// sameOrigin tells whether two definitions are copies of one: those of one header are.
func sameOrigin(a, b ctype) bool {
	return a.size == b.size && a.self.Val(dwarf.AttrDeclLine) == b.self.Val(dwarf.AttrDeclLine) && a.self.Val(dwarf.AttrDeclColumn) == b.self.Val(dwarf.AttrDeclColumn)
}
