package target

import (
	"slices"
	"strconv"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/compile"
)

// Which resources of a focus the process has.

// Covers reports whether a focus covers the process.
func (t *Target) Covers(f grid.Focus) bool {
	e := f.Elements(grid.Process)
	if len(e) == 0 {
		return true
	}
	return e[0] == t.Name || e[0] == strconv.Itoa(t.Proc.PID())
}

// checkModule refuses a focus on a module that the target does not have (yet): nothing would be counted there.
func (t *Target) checkModule(f grid.Focus) error {
	if e := f.Elements(grid.Code); len(e) == 1 && !t.HasModule(e[0]) {
		return compile.Missing(e, t)
	}
	return nil
}

// HasPart reports whether the process has a resource of an item that a text of PCL defines. Kinds of objects are always there.
func (t *Target) HasPart(it *pcl.GroupingItem, path []string) bool {
	switch {
	case it.Base == grid.Code && len(path) == 1:
		return t.HasModule(path[0])
	case it.Base == grid.Code && len(path) == 2:
		return len(t.Function(path[0], path[1])) > 0
	case it.Base == grid.Code:
		return slices.ContainsFunc(t.Function(path[0], path[1]), func(f pcl.FuncID) bool { _, ok := t.Loop(f, path[2]); return ok })
	case len(path) == 1:
		return true
	}
	_, err := t.Object(it.Base, path)
	return err == nil
}

// Lacking counts the resources of an item that the process does not have.
func (t *Target) Lacking(it *pcl.GroupingItem) int {
	n := 0
	for _, p := range it.Paths() {
		if !t.HasPart(it, p) {
			n++
		}
	}
	return n
}
