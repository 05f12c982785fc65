package target

import (
	"slices"

	"culprit/daemon/items"
	"culprit/grid"
	"culprit/pcl"
)

// Items of hierarchies that texts of PCL define.

// An itemCache is the index of a version of the program.
type itemCache struct {
	index   *items.Index
	version int
}

// Items tells which items the functions of the process belong to; nil if no text defines a hierarchy. It is made anew when the program
// has changed, so that callers exclude each other.
func (t *Target) Items() *items.Index {
	if t.items.index == nil || t.items.version != t.Version() {
		t.items = itemCache{items.New(t.Library, t), t.Version()}
	}
	return t.items.index
}

// ItemOf is the item that a focus selects; nil if it selects none that is defined.
func (s *Session) ItemOf(f grid.Focus) *pcl.GroupingItem {
	it, err := s.Library.Item(f)
	if err != nil {
		return nil
	}
	return it
}

// HasItem reports whether the process has something of an item. Kinds of objects are always there.
func (t *Target) HasItem(it *pcl.GroupingItem) bool {
	if it.Base == grid.Code {
		return t.Items().Has(it)
	}
	return slices.ContainsFunc(it.Paths(), func(p []string) bool { return t.HasPart(it, p) })
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
