// Package watch has pairs measured that somebody names: single ones, or those of all children of a resource, also of children
// that come later. It is a client of the grid: it enables pairs, tries again what is not possible yet, and keeps what became
// of each. Reading the values is left to others.
//
// It must not import a daemon, the session or a report. A Watcher is safe for use from any goroutine; Run is called once.
// While its lock is held it asks the resource tree and the daemon (for loops), never the grid.
package watch

import (
	"fmt"
	"slices"

	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// A Watch is a pair that the user asked for, or all the pairs of a metric with the children of a resource.
type Watch struct {
	Text  string // as the user wrote it
	Key   grid.PairKey
	wild  grid.Hierarchy // of the "*"; valid if every is set
	every bool
}

// Parse reads "METRIC", "METRIC@FOCUS", or a focus in which one path ends with "/*". defined are the hierarchies that
// texts define. Errors are *grid.FocusError or say what is wrong.
func Parse(text string, defined ...string) (Watch, error) {
	key, err := pcl.ParsePair(text, defined...)
	if err != nil {
		return Watch{}, err
	}
	w := Watch{Text: text, Key: key}
	for h := range grid.Defined + 1 {
		elems := key.Focus.Elements(h)
		if slices.Contains(elems[:max(len(elems)-1, 0)], "*") {
			return Watch{}, fmt.Errorf("%q has a star in the middle of a path; only the last name of one path may be *", safetext.CleanMax(text, maxName))
		}
		if len(elems) == 0 || elems[len(elems)-1] != "*" {
			continue
		}
		if w.every {
			return Watch{}, fmt.Errorf("%q has two stars; one path of a focus may end with /*", safetext.CleanMax(text, maxName))
		}
		w.every, w.wild = true, h
		w.Key.Focus, _ = key.Focus.Parent(h)
	}
	return w, nil
}

// maxName bounds what an error quotes, in characters.
const maxName = 1000

// Of is a watch of one pair.
func Of(key grid.PairKey) Watch { return Watch{Text: key.String(), Key: key} }

// Check says whether the library has the metric and can restrict it to the focus; the error says what is wrong.
func (w Watch) Check(lib *pcl.Library) error {
	f := w.Key.Focus
	if w.every && w.wild == grid.Defined {
		return w.checkItems(lib)
	}
	if w.every {
		f = f.Refine(w.wild, append(f.Elements(w.wild), "*")...)
	}
	return lib.Check(w.Key.Metric, f)
}

// checkItems says whether the metric can be read at one item at least of those that the star stands for.
func (w Watch) checkItems(lib *pcl.Library) (err error) {
	for _, f := range itemFoci(lib, w.Key.Focus) {
		if err = lib.Check(w.Key.Metric, f); err == nil {
			return nil
		}
	}
	return err
}

// itemFoci are the foci with each item of the defined hierarchy that the focus names.
func itemFoci(lib *pcl.Library, f grid.Focus) []grid.Focus {
	var out []grid.Focus
	hierarchy := f.Elements(grid.Defined)[0]
	for _, it := range lib.Items(hierarchy) {
		out = append(out, f.WithItem(hierarchy, it.Name))
	}
	return out
}
