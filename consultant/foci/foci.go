package foci

import (
	"path"
	"slices"
	"strings"

	"culprit/grid"
)

// Suppressed returns the path of the list at or below which the focus lies; "" if none. Each element of a path is a
// glob pattern (path.Match); a path that is not well formed matches nothing.
func Suppressed(f grid.Focus, paths []string) string {
	for _, p := range paths {
		parts := strings.Split(strings.Trim(p, "/"), "/")
		if len(parts) < 2 {
			continue
		}
		h, err := grid.ParseHierarchy(parts[0])
		if err != nil && under(f.Elements(grid.Defined), parts) || err == nil && under(f.Elements(h), parts[1:]) {
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
		p = strings.ReplaceAll(p, "%2F", "/") // as names in a focus are written
		if ok, err := path.Match(p, elems[i]); err != nil || (!ok && p != elems[i]) {
			return false
		}
	}
	return true
}

// Covering are all foci that cover f properly.
func Covering(f grid.Focus) []grid.Focus {
	all := []grid.Focus{f}
	for h := range grid.Defined + 1 {
		for _, g := range all[:len(all):len(all)] {
			for up, ok := g.Parent(h); ok; up, ok = up.Parent(h) {
				all = append(all, up)
			}
		}
	}
	return all[1:]
}

// Widenings are the foci that cover f properly, by leaving out some of the hierarchies in which f selects something; the
// whole program is not meant.
func Widenings(f grid.Focus) []grid.Focus {
	var used []grid.Hierarchy
	for h := range grid.Defined + 1 {
		if f.Depth(h) > 0 {
			used = append(used, h)
		}
	}
	var out []grid.Focus
	for keep := 1; keep < 1<<len(used)-1; keep++ {
		g := f
		for i, h := range used {
			if keep&(1<<i) == 0 {
				g = g.Refine(h)
			}
		}
		out = append(out, g)
	}
	return out
}

// Depth is how many names the focus selects, in all hierarchies together.
func Depth(f grid.Focus) int {
	d := 0
	for h := range grid.Defined + 1 {
		d += f.Depth(h)
	}
	return d
}

// OnlyCode tells whether a focus selects code and nothing else.
func OnlyCode(f grid.Focus) bool {
	return f.Depth(grid.Code) > 0 && len(Covering(f)) == f.Depth(grid.Code)
}

// CodeOf is a focus without object, process and thread.
func CodeOf(f grid.Focus) grid.Focus {
	return f.Refine(grid.IO).Refine(grid.SyncObject).Refine(grid.Process)
}

// Function is a focus without anything but its code.
func Function(f grid.Focus) grid.Focus {
	return grid.Whole().Refine(grid.Code, f.Elements(grid.Code)...)
}

// Differ is the first hierarchy in which two foci select something else; Code if there is none.
func Differ(f, g grid.Focus) grid.Hierarchy {
	for h := range grid.Defined + 1 {
		if !slices.Equal(f.Elements(h), g.Elements(h)) {
			return h
		}
	}
	return grid.Code
}

// Rank orders foci by how well they tell what they have in common: code (0) before objects (1) before threads (2).
func Rank(f grid.Focus) int {
	switch {
	case f.Depth(grid.Code) > 0:
		return 0
	case f.Depth(grid.Process) > 0:
		return 2
	}
	return 1
}
