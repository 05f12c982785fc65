package daemon

import (
	"slices"
	"strings"

	"culprit/daemon/items"
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
		for _, id := range t.profile.onStacks(compile.Functions(d.session.Library, it, t)) {
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

// fewFunctions is how many functions of an item are offered to the search whatever stack samples say.
const fewFunctions = 64

// onStacks leaves of many functions those that stack samples saw lately: most of a library is not used. All are left if samples saw
// none of them, or none are taken.
func (p *profile) onStacks(ids []pcl.FuncID) []pcl.FuncID {
	if len(ids) <= fewFunctions {
		return ids
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var seen []pcl.FuncID
	for _, id := range ids {
		for k := range p.kinds {
			if p.kinds[k].functions[id] > 0 {
				seen = append(seen, id)
				break
			}
		}
	}
	if len(seen) == 0 {
		return ids
	}
	return seen
}

// An itemObject is an item together with a lock or file, as the profile names it; "" for whatever is waited for, or nothing.
type itemObject struct {
	item int
	obj  string
}

// countItems counts a sample for every item that it supports, once.
func (s *kindStats) countItems(x *items.Index, functions map[pcl.FuncID]bool, object string) {
	if x == nil {
		return
	}
	seen := map[int]bool{}
	for id := range functions {
		for _, n := range x.Of(id) {
			if seen[n] {
				continue
			}
			seen[n] = true
			s.items[itemObject{n, ""}]++
			if object != "" {
				s.items[itemObject{n, object}]++
			}
		}
	}
}

// itemWeight is how many samples support the item of a focus, beside the function or the object that the focus selects as well.
func (p *profile) itemWeight(s *kindStats, part *sampledPart) (hits float64) {
	it := part.item
	if it.Base == grid.Code {
		if x := p.t.Items(); x != nil {
			return s.items[itemObject{x.Number(it), part.object}]
		}
		return 0
	}
	chosen := func(object string) bool {
		return slices.ContainsFunc(it.Paths(), func(path []string) bool {
			name := it.Base.String() + "/" + strings.Join(path, "/")
			return object == name || len(path) == 1 && strings.HasPrefix(object, name+"/")
		})
	}
	if code := part.code; len(code) >= 2 {
		ids := p.t.Function(code[0], code[1])
		for at, n := range s.both {
			if slices.Contains(ids, at.f) && chosen(at.obj) {
				hits += n
			}
		}
		return hits
	}
	for object, n := range s.objects {
		if chosen(object) {
			hits += n
		}
	}
	return hits
}
