package resources

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"culprit/daemon/program"
	"culprit/daemon/sampling"
	"culprit/daemon/target"
	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/compile"
)

// A Target is a process whose resources are asked for.
type Target struct {
	*target.Target
	sync.Locker // while its code is looked at
	Samples     Samples
	Ended       bool
}

// Samples is what stack samples of a target have seen of late.
type Samples interface {
	// Roots are the functions at the bottom of stacks.
	Roots() []pcl.FuncID
	// Callees are the functions that a function was seen to call.
	Callees(pcl.FuncID) []pcl.FuncID
	// OnStacks leaves of very many functions those that were seen.
	OnStacks([]pcl.FuncID) []pcl.FuncID
	// Waited reports whether somebody was seen waiting for a lock or a file, as sampling.ObjectPart names it.
	Waited(part string) bool
}

// Targets are all that are measured, and those that were.
type Targets struct {
	Session *target.Session
	All     []Target
}

// Below are the foci one step down a hierarchy: what grid.Axis calls refinements.
func (ts *Targets) Below(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	if h == grid.Defined {
		return ts.items(f)
	}
	if it := ts.Session.ItemOf(f); it != nil && it.Base == h {
		return ts.partsOf(f, it)
	}
	switch h {
	case grid.Code:
		return ts.code(f)
	case grid.Process:
		return ts.processes(f)
	case grid.SyncObject, grid.IO:
		return ts.objects(f, h)
	}
	return ts.children(f, h)
}

// children are those of the tree.
func (ts *Targets) children(f grid.Focus, h grid.Hierarchy) (out []grid.Focus) {
	e := f.Elements(h)
	for _, c := range ts.Session.Tree.Children(h, e...) {
		out = append(out, f.Refine(h, slices.Concat(e, []string{c})...))
	}
	return out
}

// processes goes to the threads at once where there is one process. One thread is the whole program.
func (ts *Targets) processes(f grid.Focus) []grid.Focus {
	if len(ts.All) == 1 {
		only := ts.All[0]
		if only.Threads.Count() == 1 {
			return nil
		}
		if f.Depth(grid.Process) == 0 {
			f = f.Refine(grid.Process, only.Name)
		}
	}
	return ts.children(f, grid.Process)
}

// objects are locks or files.
func (ts *Targets) objects(f grid.Focus, h grid.Hierarchy) (out []grid.Focus) {
	e := f.Elements(h)
	for _, c := range ts.Session.Tree.Children(h, e...) {
		if h == grid.SyncObject && len(e) == 1 && ts.onlyTaken(e[0], c) {
			continue
		}
		out = append(out, ts.objectsOf(f, h, slices.Concat(e, []string{c}))...)
	}
	if h == grid.IO {
		return ts.worthAsking(out)
	}
	return out
}

// objectsOf goes to single locks and files at once: that a program waits for "mutexes" is no news.
func (ts *Targets) objectsOf(f grid.Focus, h grid.Hierarchy, e []string) (out []grid.Focus) {
	if len(e) == 2 {
		return []grid.Focus{f.Refine(h, e...)}
	}
	for _, c := range ts.Session.Tree.Children(h, e...) {
		if h != grid.SyncObject || !ts.onlyTaken(e[0], c) {
			out = append(out, f.Refine(h, e[0], c))
		}
	}
	return out
}

// onlyTaken reports whether a lock is known by being taken alone: nobody was seen waiting for it in any process, so there is nothing to
// search.
func (ts *Targets) onlyTaken(kind, name string) bool {
	known := false
	for _, t := range ts.All {
		has, only := t.Locks.OnlyTaken(kind, name)
		if has && !only {
			return false
		}
		known = known || has
	}
	return known
}

// manyFiles is how many files are offered to the search on which nobody was seen waiting.
const manyFiles = 64

// worthAsking leaves of very many files those that somebody was seen waiting for, and some.
func (ts *Targets) worthAsking(all []grid.Focus) []grid.Focus {
	if len(all) <= manyFiles {
		return all
	}
	var out []grid.Focus
	left := manyFiles
	for _, f := range all {
		part := sampling.ObjectPart(f)
		waited := slices.ContainsFunc(ts.All, func(t Target) bool { return t.Samples.Waited(part) })
		if waited || left > 0 {
			out = append(out, f)
		}
		if !waited {
			left--
		}
	}
	return out
}

// code follows the call graph: the roots first, then callees. Processes of one program name the same functions over and over: foci
// are made of what is left.
func (ts *Targets) code(f grid.Focus) []grid.Focus {
	names := map[program.Name]bool{}
	for _, t := range ts.All {
		if t.has(f) {
			t.below(f.Elements(grid.Code), names)
		}
	}
	var out []grid.Focus
	for _, n := range slices.SortedFunc(maps.Keys(names), program.Name.Compare) {
		if g := f.Refine(grid.Code, n.Module, n.Function); g != f && !ts.Session.Library.Excluded(n.Module, n.Function) {
			out = append(out, g)
		}
	}
	return out
}

// has reports whether a focus covers a target that still runs.
func (t *Target) has(f grid.Focus) bool { return !t.Ended && t.Covers(f) }

// below adds the functions one step down the call graph from a selection in Code.
func (t *Target) below(e []string, names map[program.Name]bool) {
	t.Lock()
	defer t.Unlock()
	var ids []pcl.FuncID
	switch len(e) {
	case 0:
		ids = append(t.Start(), t.Samples.Roots()...)
	case 2:
		for _, id := range t.Function(e[0], e[1]) {
			ids = append(ids, t.calleesOf(id)...)
		}
	}
	for _, id := range ids {
		if fn := t.Func(id); fn != nil {
			names[program.Name{Module: fn.Fn.Module, Function: fn.Fn.Name}] = true
		}
	}
}

// calleesOf lists what a function calls, also by what samples saw below it.
func (t *Target) calleesOf(id pcl.FuncID) []pcl.FuncID {
	f := t.Func(id)
	if f == nil {
		return nil
	}
	return slices.Concat(t.Callees(f), t.Samples.Callees(id))
}

// items are the items that some target has, in the order of their names. What a focus has chosen already in the hierarchy of their
// parts cannot be chosen a second time.
func (ts *Targets) items(f grid.Focus) (out []grid.Focus) {
	if f.Depth(grid.Defined) > 0 {
		return nil
	}
	for _, h := range ts.Session.Library.Defined() {
		for _, it := range ts.Session.Library.Items(h) {
			has := func(t Target) bool { return t.has(f) && t.hasItem(it) }
			if f.Depth(it.Base) == 0 && slices.ContainsFunc(ts.All, has) {
				out = append(out, f.WithItem(h, it.Name))
			}
		}
	}
	slices.SortFunc(out, func(a, b grid.Focus) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func (t *Target) hasItem(it *pcl.GroupingItem) bool {
	t.Lock()
	defer t.Unlock()
	return t.HasItem(it)
}

// partsOf leave an item for its parts: its functions and loops, or its objects.
func (ts *Targets) partsOf(f grid.Focus, it *pcl.GroupingItem) (out []grid.Focus) {
	f = f.WithoutItem()
	seen := map[grid.Focus]bool{}
	add := func(g grid.Focus) {
		if !seen[g] {
			seen[g] = true
			out = append(out, g)
		}
	}
	for _, t := range ts.All {
		if t.has(f) {
			ts.partsIn(&t, f, it, add)
		}
	}
	return out
}

// partsIn adds the parts of an item that a target has.
func (ts *Targets) partsIn(t *Target, f grid.Focus, it *pcl.GroupingItem, add func(grid.Focus)) {
	t.Lock()
	defer t.Unlock()
	for _, id := range t.Samples.OnStacks(compile.Functions(ts.Session.Library, it, t)) {
		add(f.Refine(grid.Code, t.FuncModule(id), t.FuncName(id)))
	}
	for _, p := range it.Paths() {
		switch {
		case it.Base == grid.Code && len(p) == 3 && len(t.Function(p[0], p[1])) > 0:
			add(f.Refine(grid.Code, p...))
		case it.Base != grid.Code:
			for _, g := range ts.objectsOf(f, it.Base, p) {
				add(g)
			}
		}
	}
}
