package consultant

import (
	"path"
	"strings"

	"culprit/grid"
)

// whole is the focus of the whole program.
func whole() grid.Focus { return grid.Whole() }

// last returns the name of the selected node of a hierarchy; "" at its root.
func last(f grid.Focus, h grid.Hierarchy) string {
	e := f.Elements(h)
	if len(e) == 0 {
		return ""
	}
	return e[len(e)-1]
}

// functionOf returns the function of a focus; "" if it names none.
func functionOf(f grid.Focus) string {
	if e := f.Elements(grid.Code); len(e) >= 2 {
		return e[1]
	}
	return ""
}

// suppressed returns the path of the list at or below which the focus lies; "" if none. Each element of a path is a
// glob pattern (path.Match); a path that is not well formed matches nothing.
func suppressed(f grid.Focus, paths []string) string {
	for _, p := range paths {
		parts := strings.Split(strings.Trim(p, "/"), "/")
		h, err := grid.ParseHierarchy(parts[0])
		if err != nil || len(parts) < 2 {
			continue
		}
		if under(f.Elements(h), parts[1:]) {
			return p
		}
	}
	return ""
}

func under(elems, patterns []string) bool {
	if len(elems) < len(patterns) {
		return false
	}
	for i, p := range patterns {
		if ok, err := path.Match(p, elems[i]); err != nil || (!ok && p != elems[i]) {
			return false
		}
	}
	return true
}

// widenings are the foci that cover f and leave out exactly one hierarchy of those in which f selects something.
// With one hierarchy in use there are none: the whole program is not meant.
func widenings(f grid.Focus) []grid.Focus {
	var out []grid.Focus
	for h := range grid.NumHierarchies {
		if f.Depth(h) == 0 {
			continue
		}
		if g := f.Refine(h); g != whole() {
			out = append(out, g)
		}
	}
	return out
}
