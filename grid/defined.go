package grid

import (
	"fmt"
	"slices"
	"strings"
)

// Hierarchies beyond the fixed ones are defined by PCL texts: names of a higher level for resources of the fixed
// hierarchies. A focus selects at most one item of all of them, written "/Subsystem/parser". What an item stands for is
// the business of whoever knows the texts; here it is a name.

// A definedSet is what a reader of foci knows of defined hierarchies.
type definedSet struct {
	names []string
	any   bool // every name that may be one is taken for one
}

// anyDefined serves where text was written by a program: it is not mistyped.
var anyDefined = definedSet{any: true}

func definedNames(names []string) definedSet { return definedSet{names: names} }

// hierarchy finds the hierarchy of a name: a fixed one, or Defined.
func (d definedSet) hierarchy(name string) (Hierarchy, error) {
	h, err := ParseHierarchy(name)
	if err == nil || !d.has(name) {
		return h, err
	}
	return Defined, nil
}

func (d definedSet) has(name string) bool {
	return d.any && isIdentifier(name) || slices.Contains(d.names, name)
}

// list is what is expected where a name is not known.
func (d definedSet) list() string {
	return "one of " + strings.Join(d.all(), ", ")
}

// all are the names of the fixed hierarchies and of the defined ones.
func (d definedSet) all() []string { return slices.Concat(hierarchyNames[:], d.names) }

// startsItem reports whether text reads like the start of a part below a defined hierarchy that was named.
func (d definedSet) startsItem(text string) bool {
	text, ok := strings.CutPrefix(strings.TrimLeft(text, " "), "/")
	return ok && slices.ContainsFunc(d.names, func(name string) bool { return strings.HasPrefix(text, name+"/") })
}

// isIdentifier reports whether a name may be that of a defined hierarchy: letters, digits and underscores.
func isIdentifier(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// item reads what follows the name of a defined hierarchy: one name, that of the item.
func (p *focusParser) item(hierarchy string) error {
	if !p.at('/') {
		return p.errorAt(p.pos, p.found(), fmt.Sprintf("an item of it, as in /%s/NAME", hierarchy))
	}
	p.pos++
	start := p.pos
	p.skipName()
	if p.pos == start {
		return p.errorAt(start, p.found(), "the name of an item")
	}
	if p.at('/') {
		return p.errorAt(p.pos, p.found(), "the end of the path: below an item there is nothing; choose its parts by their own names")
	}
	p.parts[Defined] = encodePart(Defined, []string{hierarchy, decodeName(p.text[start:p.pos])})
	return nil
}

// Item returns the defined hierarchy and the item of it that the focus selects; ok is false if it selects none.
func (f Focus) Item() (hierarchy, item string, ok bool) {
	e := f.Elements(Defined)
	if len(e) < 2 {
		return "", "", false
	}
	return e[0], e[1], true
}

// WithItem returns the focus with the item selected instead of the one it had. The hierarchy must be an identifier that is
// none of the fixed hierarchies.
func (f Focus) WithItem(hierarchy, item string) Focus { return f.Refine(Defined, hierarchy, item) }

// WithoutItem returns the focus without its item.
func (f Focus) WithoutItem() Focus { return f.Refine(Defined) }

// definedName is the name of the defined hierarchy of which an item is selected; "" if there is none.
func (f Focus) definedName() string {
	if e := f.Elements(Defined); len(e) > 0 {
		return e[0]
	}
	return ""
}

// rootText is how the path of a hierarchy begins. The names of defined hierarchies are in the part itself.
func rootText(h Hierarchy) string {
	if h == Defined {
		return ""
	}
	return "/" + hierarchyNames[h]
}
