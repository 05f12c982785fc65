package pcl

import (
	"slices"
	"strings"

	"culprit/pcl/syntax"
)

// flavors are those that targets have.
var flavors = []string{"any", "c", "cxx", "rust", "unix", "mpi", "go"}

// flavors tells of names that are those of no target: what is for them only is refused everywhere, or empty.
func (w *warner) flavors(d *syntax.Def) {
	for _, it := range d.Items {
		if it.Key != "flavor" {
			continue
		}
		for _, v := range it.Values {
			if !slices.Contains(flavors, v.Text) {
				w.warn(v.Pos, "%s %s: found the flavor %s, expected one of %s%s; no target is of this one", d.Keyword, d.Name, v.Text, strings.Join(flavors, ", "),
					syntax.DidYouMean(v.Text, flavors))
			}
		}
	}
}
