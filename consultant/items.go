package consultant

import (
	"slices"
	"strings"

	"culprit/consultant/explain"
	"culprit/grid"
)

// Items of hierarchies that texts define: here they are foci with a name, and the axis knows what they stand for.

// itemText names the item of the focus if the parts of the item are of one of the hierarchies, else "".
func (n *node) itemText(of ...grid.Hierarchy) string {
	name, base := explain.Item(n.focus), grid.Code
	if name != "" && n.hyp.Base != nil {
		base = n.hyp.Base(n.focus)
	}
	if !slices.Contains(of, base) {
		return ""
	}
	return name
}

// objectText names the object of the node's focus, or the item of several; "" if it has none.
func (n *node) objectText() string {
	if o := explain.Object(n.focus); o != "" {
		return o
	}
	return n.itemText(grid.SyncObject, grid.IO, grid.Memory)
}

// choosesCode tells whether the focus selects code, by itself or by an item.
func (n *node) choosesCode() bool {
	return n.focus.Depth(grid.Code) > 0 || n.itemText(grid.Code) != ""
}

// withinItem names the items that led to the node and for which the hypothesis holds as well; "" if there are none. What was
// found is in them, or below them in the graph of calls. The focus of the node does not say that.
func (n *node) withinItem() string {
	if n.focus.Depth(grid.Defined) > 0 {
		return ""
	}
	var names []string
	n.climb(func(p *node) bool {
		name := explain.Item(p.focus)
		if name == "" || p.hyp != n.hyp || p.state != True {
			return p == n || p.state == True
		}
		if slices.Contains(n.parents, p) {
			name = "in " + name
		} else {
			name = "below " + name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return true
	})
	slices.Sort(names)
	return strings.Join(names, ", ")
}
