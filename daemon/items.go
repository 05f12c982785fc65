package daemon

import (
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/compile"
)

// Items of hierarchies that PCL texts define: which functions of a target belong to one, how a focus is refined along them,
// and how many stack samples support them. What is measured at one is the business of the PCL compiler.

// itemRefinements are the items that some target has, in the order of their names. What a focus has chosen already in the
// hierarchy of their parts cannot be chosen a second time.
func (d *Daemon) itemRefinements(f grid.Focus) (out []grid.Focus) {
	if f.Depth(grid.Defined) > 0 {
		return nil
	}
	for _, h := range d.session.Library.Defined() {
		for _, it := range d.session.Library.Items(h) {
			has := func(t *measured) bool { return !t.ended && t.Covers(f) && t.HasItem(it) }
			if f.Depth(it.Base) == 0 && slices.ContainsFunc(d.targets, has) {
				out = append(out, f.WithItem(h, it.Name))
			}
		}
	}
	slices.SortFunc(out, func(a, b grid.Focus) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// partRefinements leave an item for its parts: its functions and loops, or its objects.
func (d *Daemon) partRefinements(f grid.Focus, it *pcl.GroupingItem) (out []grid.Focus) {
	f = f.WithoutItem()
	seen := map[grid.Focus]bool{}
	add := func(g grid.Focus) {
		if !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	for _, t := range d.targets {
		if t.ended || !t.Covers(f) {
			continue
		}
		for _, id := range t.profile.OnStacks(compile.Functions(d.session.Library, it, t)) {
			add(f.Refine(grid.Code, t.FuncModule(id), t.FuncName(id)))
		}
		for _, p := range it.Paths() {
			switch {
			case it.Base == grid.Code && len(p) == 3 && len(t.Function(p[0], p[1])) > 0:
				add(f.Refine(grid.Code, p...))
			case it.Base != grid.Code:
				for _, g := range d.objectsOf(f, it.Base, p) {
					add(g)
				}
			}
		}
	}
	return out
}
