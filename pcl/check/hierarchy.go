package check

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// A hierarchyChecker reads one definition. Its maps tell by the text of a path which item has it, and which has something below
// it, so that large files that a compiler has written are checked in one pass.
type hierarchyChecker struct {
	lists map[string]*pcl.List
	out   pcl.Grouping
	owner map[string]int
	above map[string]int
}

// checkHierarchy checks a hierarchy definition: every item stands for at least one resource, all below one fixed hierarchy, and
// no resource belongs to two items, as far as their names say.
func (b *builder) checkHierarchy(d *syntax.Def) error {
	if _, err := grid.ParseHierarchy(d.Name); err == nil {
		return syntax.ErrorAt(d.Pos, "hierarchy %s: found the name of a fixed hierarchy, expected another one", d.Name)
	}
	if len(d.Items) == 0 {
		return syntax.ErrorAt(d.Pos, `hierarchy %s: found no item, expected at least one: item "NAME" is { "/Code/MODULE", .. };`, d.Name)
	}
	h := &hierarchyChecker{lists: b.lists, out: pcl.Grouping{Name: d.Name}, owner: map[string]int{}, above: map[string]int{}}
	for _, it := range d.Items {
		if err := h.item(it); err != nil {
			return err
		}
	}
	b.defs.Groupings = append(b.defs.Groupings, h.out)
	return nil
}

func (h *hierarchyChecker) item(it *syntax.Item) error {
	name := it.Values[0]
	if name.Text == "" || name.Text == "*" {
		return syntax.ErrorAt(name.Pos, "hierarchy %s: found the name %s, expected another one for an item", h.out.Name, name)
	}
	if h.out.Find(name.Text) != nil {
		return syntax.ErrorAt(it.Pos, "hierarchy %s: found the item %q a second time, expected it once", h.out.Name, name.Text)
	}
	if len(it.Values) == 1 {
		return syntax.ErrorAt(name.Pos, "hierarchy %s: found the item %q without resources, expected at least one path such as /Code/MODULE", h.out.Name, name.Text)
	}
	h.out.Add(pcl.GroupingItem{Grouping: h.out.Name, Name: name.Text})
	for _, v := range it.Values[1:] {
		if err := h.path(v); err != nil {
			return syntax.ErrorAt(v.Pos, "hierarchy %s: item %q: %v", h.out.Name, name.Text, err)
		}
	}
	return nil
}

// path adds one resource to the last item.
func (h *hierarchyChecker) path(v syntax.Value) error {
	f, err := pcl.ParseFocus(v.Text)
	if err != nil {
		return fmt.Errorf("found a path that is no path of a resource: %w", err)
	}
	base, err := h.baseOf(f)
	if err != nil {
		return err
	}
	it := &h.out.Items[len(h.out.Items)-1]
	if len(it.Foci) > 0 && it.Base != base {
		return fmt.Errorf("found %v beside a resource of /%v, expected resources of one hierarchy in an item", f, it.Base)
	}
	if err := h.overlap(f, base); err != nil {
		return err
	}
	it.Base = base
	it.Foci = append(it.Foci, f)
	return nil
}

// itemDepth is how many names a resource of an item may have below its hierarchy; 0: such resources are names of a running
// program.
var itemDepth = map[grid.Hierarchy]int{grid.Code: 3, grid.SyncObject: 3, grid.IO: 2, grid.Memory: 4}

// baseOf is the only hierarchy in which the focus of an item is refined.
func (h *hierarchyChecker) baseOf(f grid.Focus) (grid.Hierarchy, error) {
	var used []grid.Hierarchy
	for g := range grid.NumHierarchies {
		if f.Depth(g) > 0 {
			used = append(used, g)
		}
	}
	switch {
	case len(used) == 0:
		return 0, fmt.Errorf("found %v, expected a part of a hierarchy, such as /Code/MODULE", f)
	case len(used) > 1:
		return 0, fmt.Errorf("found %v, expected a path of one hierarchy", f)
	}
	base := used[0]
	switch most, n := itemDepth[base], f.Depth(base); {
	case most == 0:
		return 0, fmt.Errorf("found %v, expected a resource of /Code, /SyncObject, /IO or /Memory: those of /%v have other names in each run", f, base)
	case n > most:
		return 0, fmt.Errorf("found %v, expected at most %d names below /%v", f, most, base)
	}
	if known, kind := levels(base, h.lists), f.Elements(base)[0]; known != nil && !slices.Contains(known, kind) {
		return 0, fmt.Errorf("found /%v/%s, expected one of %s%s", base, kind, strings.Join(known, ", "), syntax.DidYouMean(kind, known))
	}
	return base, nil
}

// overlap reports a resource that another one holds, or that holds another one.
func (h *hierarchyChecker) overlap(f grid.Focus, base grid.Hierarchy) error {
	text, me := f.String(), len(h.out.Items)-1
	if other, ok := h.owner[text]; ok {
		return h.belongs(f, text, other)
	}
	if other, ok := h.above[text]; ok {
		return fmt.Errorf("found %v, of which the item %q has a part already, expected each resource in one item, once", f, h.out.Items[other].Name)
	}
	ups := ancestors(f, base)
	for _, up := range ups {
		if other, ok := h.owner[up]; ok {
			return h.belongs(f, up, other)
		}
	}
	h.owner[text] = me
	for _, up := range ups {
		if _, ok := h.above[up]; !ok {
			h.above[up] = me
		}
	}
	return nil
}

func (h *hierarchyChecker) belongs(f grid.Focus, what string, other int) error {
	if what == f.String() {
		return fmt.Errorf("found %v, which belongs to the item %q already, expected each resource in one item, once", f, h.out.Items[other].Name)
	}
	return fmt.Errorf("found %v, which belongs to the item %q already as a part of %s, expected each resource in one item, once",
		f, h.out.Items[other].Name, what)
}

// ancestors are the texts of the resources that hold the one of the focus: its function and module, and for a loop loop_1.2
// the loop loop_1 around it.
func ancestors(f grid.Focus, base grid.Hierarchy) []string {
	var out []string
	if e := f.Elements(base); base == grid.Code && len(e) == 3 {
		for loop := e[2]; ; {
			i := strings.LastIndexByte(loop, '.')
			if i < 0 {
				break
			}
			loop = loop[:i]
			out = append(out, f.Refine(base, e[0], e[1], loop).String())
		}
	}
	for {
		up, ok := f.Parent(base)
		if !ok || up.IsWhole() {
			return out
		}
		out = append(out, up.String())
		f = up
	}
}
