package daemon

import (
	"slices"

	"culprit/daemon/program"
	"culprit/daemon/sampling"
	"culprit/grid"
	"culprit/pcl"
)

// Refinements implements grid.Axis.
func (d *Daemon) Refinements(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h == grid.Defined {
		return d.itemRefinements(f)
	}
	if it := d.session.ItemOf(f); it != nil && it.Base == h {
		return d.partRefinements(f, it)
	}
	if h == grid.Code {
		return d.codeRefinements(f)
	}
	if h == grid.IO {
		d.findFiles(freshFor)
	}
	e := f.Elements(h)
	var out []grid.Focus
	if h == grid.Process && len(d.targets) == 1 && d.targets[0].Threads.Count() == 1 {
		return nil // one thread is the whole program
	}
	if h == grid.Process && len(e) == 0 && len(d.targets) == 1 {
		e = []string{d.targets[0].Name} // one process: its threads are the next step
		f = f.Refine(h, e...)
	}
	for _, c := range d.session.Tree.Children(h, e...) {
		if h == grid.SyncObject && len(e) == 1 && d.onlyTaken(e[0], c) {
			continue
		}
		if h == grid.SyncObject || h == grid.IO {
			out = append(out, d.objectsOf(f, h, append(append([]string(nil), e...), c))...)
			continue
		}
		out = append(out, f.Refine(h, append(append([]string(nil), e...), c)...))
	}
	if h == grid.IO {
		return d.worthAsking(out)
	}
	return out
}

// objectsOf goes to single locks and files at once: that a program waits for "mutexes" is no news.
func (d *Daemon) objectsOf(f grid.Focus, h grid.Hierarchy, e []string) (out []grid.Focus) {
	if len(e) == 2 {
		return []grid.Focus{f.Refine(h, e...)}
	}
	for _, c := range d.session.Tree.Children(h, e...) {
		if h != grid.SyncObject || !d.onlyTaken(e[0], c) {
			out = append(out, f.Refine(h, e[0], c))
		}
	}
	return out
}

// codeRefinements follows the call graph: the roots first, then callees. Processes of one program name the same functions over and over: foci
// are made of what is left.
func (d *Daemon) codeRefinements(f grid.Focus) []grid.Focus {
	var names []program.Name
	for _, t := range d.targets {
		if t.ended || !t.Covers(f) {
			continue
		}
		for _, id := range t.below(f.Elements(grid.Code)) {
			if fn := t.Func(id); fn != nil {
				names = append(names, program.Name{Module: fn.Fn.Module, Function: fn.Fn.Name})
			}
		}
	}
	slices.SortFunc(names, program.Name.Compare)
	var out []grid.Focus
	for _, n := range slices.Compact(names) {
		if g := f.Refine(grid.Code, n.Module, n.Function); g != f && !d.session.Library.Excluded(n.Module, n.Function) {
			out = append(out, g)
		}
	}
	return out
}

// below are the functions one step down the call graph from a selection in Code, each once.
func (t *measured) below(e []string) (ids []pcl.FuncID) {
	switch len(e) {
	case 0:
		ids = append(t.Start(), t.profile.Roots()...)
	case 2:
		for _, id := range t.Function(e[0], e[1]) {
			ids = append(ids, t.calleesOf(id)...)
		}
	}
	return program.Distinct(ids)
}

// calleesOf lists what a function calls, also by what samples saw below it.
func (t *measured) calleesOf(id pcl.FuncID) []pcl.FuncID {
	f := t.Func(id)
	if f == nil {
		return nil
	}
	return slices.Concat(t.Callees(f), t.profile.Callees(id))
}

// Weight implements grid.Axis.
func (d *Daemon) Weight(f grid.Focus, kind string) float64 {
	k, ok := sampling.KindOf(kind)
	if !ok {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var hits, total float64
	part := sampling.PartOf(f, d.session.ItemOf(f))
	for _, t := range d.targets {
		h, n := t.profile.Weight(part, k)
		total += n
		if t.Covers(f) {
			hits += h
		}
	}
	if total < 5 {
		return 0
	}
	return hits / total
}

// onlyTaken reports whether a lock is known by being taken alone: nobody was seen waiting for it in any process, so there is nothing to
// search. d.mu is held.
func (d *Daemon) onlyTaken(kind, name string) bool {
	known := false
	for _, t := range d.targets {
		has, only := t.Locks.OnlyTaken(kind, name)
		if has && !only {
			return false
		}
		known = known || has
	}
	return known
}
