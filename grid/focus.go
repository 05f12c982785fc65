package grid

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unique"
)

// A Focus selects one node from each hierarchy. It is a small comparable value and may be a map key; the zero value is
// the whole program.
type Focus struct {
	// parts is the zero handle exactly if all parts are empty.
	parts unique.Handle[focusParts]
}

// focusParts holds for each hierarchy the canonical text below the root: "/queue.c/pop"; "" is the root. The last is Defined.
type focusParts [Defined + 1]string

// Whole is the focus of the whole program, "/".
func Whole() Focus { return Focus{} }

// IsWhole reports whether every hierarchy is at its root.
func (f Focus) IsWhole() bool { return f == Focus{} }

// Equal reports whether the foci are the same; it is what == says.
func (f Focus) Equal(g Focus) bool { return f == g }

func (f Focus) get() focusParts {
	if f.IsWhole() {
		return focusParts{}
	}
	return f.parts.Value()
}

func newFocus(p focusParts) Focus {
	if p == (focusParts{}) {
		return Focus{}
	}
	return Focus{unique.Make(p)}
}

// String writes the focus canonically: the parts in the order of the hierarchies, roots left out, "/" for the whole
// program. ParseFocus reads it back exactly, whatever the names hold; a focus with an item only if it is told of the defined
// hierarchy (and, then, of no path of /IO in which that name stands behind ",/"). It is not safe for a terminal if names come
// from a target.
func (f Focus) String() string {
	if f.IsWhole() {
		return "/"
	}
	var b strings.Builder
	for h, part := range f.get() {
		if part == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(rootText(Hierarchy(h)))
		b.WriteString(part)
	}
	return b.String()
}

// Elements returns the names from the root of the hierarchy (left out) down to the selected node; nil at the root.
func (f Focus) Elements(h Hierarchy) []string {
	if h > Defined {
		return nil
	}
	return decodePart(h, f.get()[h])
}

// Depth is how many steps below its root the selection in the hierarchy is; 0 at the root.
func (f Focus) Depth(h Hierarchy) int {
	if h > Defined {
		return 0
	}
	return partDepth(h, f.get()[h])
}

// Refine returns the focus with the selection in the hierarchy replaced; without elems it is the root. Names may hold
// anything. Below /IO/<kind> there is one level, a path: further elems are joined to it with slashes.
func (f Focus) Refine(h Hierarchy, elems ...string) Focus {
	if h > Defined {
		panic(fmt.Sprintf("BUG: focus refined in %v", h))
	}
	p := f.get()
	p[h] = encodePart(h, elems)
	return newFocus(p)
}

// Parent returns the focus one step up in the hierarchy, and false at its root.
func (f Focus) Parent(h Hierarchy) (Focus, bool) {
	e := f.Elements(h)
	if len(e) == 0 {
		return f, false
	}
	return f.Refine(h, e[:len(e)-1]...), true
}

// Covers reports whether everything in g is also in f: in each hierarchy f selects the same node as g or one above it.
func (f Focus) Covers(g Focus) bool {
	fp, gp := f.get(), g.get()
	for h := range fp {
		if !partCovers(Hierarchy(h), fp[h], gp[h]) {
			return false
		}
	}
	return true
}

// Compare orders foci: those with fewer steps below the roots first, then by their parts in the order of the
// hierarchies. It returns -1, 0 or 1.
func (f Focus) Compare(g Focus) int {
	if f == g {
		return 0
	}
	fp, gp := f.get(), g.get()
	fd, gd := 0, 0
	for h := range fp {
		fd += partDepth(Hierarchy(h), fp[h])
		gd += partDepth(Hierarchy(h), gp[h])
	}
	if fd != gd {
		return cmp.Compare(fd, gd)
	}
	return slices.Compare(fp[:], gp[:])
}

// Map is the form of a focus in JSON: the path by hierarchy, {"Code": "/Code/cache.c/lookup"}, roots left out.
func (f Focus) Map() map[string]string {
	m := map[string]string{}
	for h, part := range f.get() {
		switch {
		case part == "":
		case Hierarchy(h) == Defined:
			m[f.definedName()] = part
		default:
			m[hierarchyNames[h]] = rootText(Hierarchy(h)) + part
		}
	}
	return m
}

// FocusFromMap is the inverse of Map. Roots ("Code": "/Code") may be given. A name that is none of a fixed hierarchy and none
// of those in defined is an error.
func FocusFromMap(m map[string]string, defined ...string) (Focus, error) {
	return focusFromMap(m, definedNames(defined))
}

func focusFromMap(m map[string]string, defined definedSet) (Focus, error) {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names) // so that the same bad map gives the same error
	var p focusParts
	for _, name := range names {
		h, err := defined.hierarchy(name)
		if err != nil {
			return Focus{}, err
		}
		g, err := parseFocus(m[name], defined)
		if err != nil {
			return Focus{}, err
		}
		part := g.get()
		other := p[h] != "" || h == Defined && g.definedName() != name
		p[h] = part[h]
		part[h] = ""
		if other || part != (focusParts{}) {
			return Focus{}, fmt.Errorf("focus: %s has the path %s; expected one path below /%s", name, quote(m[name]), name)
		}
	}
	return newFocus(p), nil
}

// MarshalJSON writes the form of Map. Bytes of names that are not UTF-8 are lost in JSON.
func (f Focus) MarshalJSON() ([]byte, error) { return json.Marshal(f.Map()) }

// UnmarshalJSON reads the form of Map, or the text of String (as it stands where a focus is a key). A hierarchy that is not a
// fixed one is taken for a defined one.
func (f *Focus) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return fmt.Errorf("focus: %w", err)
		}
		return f.UnmarshalText([]byte(text))
	}
	var m map[string]string
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("focus: %w", err)
	}
	g, err := focusFromMap(m, anyDefined)
	if err == nil {
		*f = g
	}
	return err
}

// MarshalText writes String; it serves where a focus is a key in JSON.
func (f Focus) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what ParseFocus reads. A hierarchy that is not a fixed one is taken for a defined one.
func (f *Focus) UnmarshalText(text []byte) error {
	g, err := parseFocus(string(text), anyDefined)
	if err == nil {
		*f = g
	}
	return err
}

// pathDepth is the depth at which the rest of a part is one name, taken as it is; 0 where there is none. A path of /IO
// is long and full of slashes, and it is always the last element.
func pathDepth(h Hierarchy) int {
	if h == IO {
		return 2
	}
	return 0
}

func encodePart(h Hierarchy, elems []string) string {
	var b strings.Builder
	for i, e := range elems {
		b.WriteByte('/')
		if i+1 == pathDepth(h) {
			b.WriteString(encodePath(strings.Join(elems[i:], "/")))
			break
		}
		b.WriteString(encodeName(e))
	}
	return b.String()
}

// splitPart cuts the canonical text of a part into its encoded elements.
func splitPart(h Hierarchy, part string) []string {
	if part == "" {
		return nil
	}
	if d := pathDepth(h); d > 0 {
		return strings.SplitN(part[1:], "/", d)
	}
	return strings.Split(part[1:], "/")
}

func decodePart(h Hierarchy, part string) []string {
	elems := splitPart(h, part)
	for i := range elems {
		if i+1 == pathDepth(h) {
			elems[i] = decodePath(elems[i])
		} else {
			elems[i] = decodeName(elems[i])
		}
	}
	return elems
}

func partDepth(h Hierarchy, part string) int {
	n := strings.Count(part, "/")
	if d := pathDepth(h); d > 0 {
		n = min(n, d)
	}
	return n
}

func partCovers(h Hierarchy, outer, inner string) bool {
	if outer == "" || outer == inner {
		return true
	}
	if d := pathDepth(h); d > 0 && partDepth(h, outer) == d {
		return false // a path is a leaf: the file "/a" does not hold the file "/a/b"
	}
	return len(inner) > len(outer) && inner[len(outer)] == '/' && strings.HasPrefix(inner, outer)
}
