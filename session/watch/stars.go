package watch

import (
	"fmt"
	"maps"
	"slices"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// A star in a watch stands for all children of a resource, also for those that come later.

// expand lists the pairs that a watch stands for now.
func (w *Watcher) expand(one Watch) []grid.PairKey {
	focus := w.resolveProcess(one.Key.Focus)
	if !one.every {
		return []grid.PairKey{{Metric: one.Key.Metric, Focus: focus}}
	}
	var keys []grid.PairKey
	for _, f := range w.children(focus, one.wild) {
		keys = append(keys, grid.PairKey{Metric: one.Key.Metric, Focus: f})
	}
	return keys
}

// finder is the pair that has to be measured so that objects are found for a star, where nothing but the probes of its metric finds those that are in
// nobody's way.
func (w *Watcher) finder(one Watch) (grid.PairKey, bool) {
	if !one.every || one.wild != grid.SyncObject {
		return grid.PairKey{}, false
	}
	f := w.resolveProcess(one.Key.Focus)
	elems := f.Elements(one.wild)
	if len(elems) == 0 {
		elems = []string{"Mutex"} // what metrics tell apart, if they do
	}
	all, _, ok := w.lib.KeyedBy(one.Key.Metric, f.Refine(one.wild, append(elems, "*")...))
	return grid.PairKey{Metric: one.Key.Metric, Focus: all}, ok
}

// shown are the pairs that somebody has asked for. mu is held.
func (w *Watcher) shown() (keys []grid.PairKey) {
	for _, key := range w.order {
		if w.asked[key] == key || slices.ContainsFunc(w.stands, func(of map[grid.PairKey]bool) bool { return of[key] }) {
			keys = append(keys, key)
		}
	}
	return keys
}

// children are the foci that a star stands for now.
func (w *Watcher) children(f grid.Focus, h grid.Hierarchy) []grid.Focus {
	switch {
	case h == grid.Defined:
		return itemFoci(w.lib, f)
	case h == grid.Code && f.Depth(h) == 2:
		_ = w.listLoops(f) // why there are none is told at the end
	}
	return w.tree.Refinements(f, h)
}

// listLoops makes the loops of the function that a focus chooses known: nobody looks for them before they are asked for.
func (w *Watcher) listLoops(f grid.Focus) error {
	elems := f.Elements(grid.Code)
	_, err := w.code.ListLoops(elems[0], elems[1])
	return err
}

// Pointless reports whether something that was asked for was not there to the end: the one pair of a watch, or all that a star stands for. A
// star of objects is no promise: there may be none.
func (w *Watcher) Pointless() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	nothing := func(key grid.PairKey) bool { s := w.state[key]; return s != nil && pcl.NothingThere(s.err) }
	for i, one := range w.watches {
		if !one.every && nothing(w.asked[one.Key]) {
			return true
		}
		listed := one.wild == grid.Defined || one.wild == grid.Code && len(w.tree.Children(grid.Code)) > 0
		if one.every && listed && !slices.ContainsFunc(slices.Collect(maps.Keys(w.stands[i])), func(key grid.PairKey) bool { return !nothing(key) }) {
			return true
		}
	}
	return false
}

// A Vain star never stood for anything.
type Vain struct {
	Key grid.PairKey // with the star
	Why string       // as the targets have it
}

// Vain lists the stars that never stood for anything.
func (w *Watcher) Vain() (list []Vain) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, one := range w.watches {
		if !one.every || len(w.stands[i]) > 0 {
			continue
		}
		f := one.Key.Focus
		why := "nothing had been found below it when the measurement ended"
		if _, finds := w.finder(one); one.wild == grid.SyncObject && !finds {
			why += ": no thread was seen waiting for one; --watch lock_acquisitions beside it finds those for which no thread waits"
		}
		switch {
		case one.wild == grid.Code && f.Depth(grid.Code) == 2:
			if err := w.listLoops(f); err != nil {
				why += ": " + err.Error()
			}
		case one.wild == grid.Code:
			why += w.noModule(f.Elements(grid.Code))
		}
		list = append(list, Vain{grid.PairKey{Metric: one.Key.Metric, Focus: f.Refine(one.wild, append(f.Elements(one.wild), "*")...)}, why})
	}
	return list
}

// noModule adds that there is no module of the name below which nothing was found.
func (w *Watcher) noModule(path []string) string {
	modules := w.tree.Children(grid.Code)
	if len(path) != 1 || slices.Contains(modules, path[0]) {
		return ""
	}
	why := fmt.Sprintf(": the target has no module %q", path[0])
	if near := syntax.Closest(path[0], modules); near != "" {
		why += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return why
}
