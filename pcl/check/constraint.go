package check

import (
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// kindsList is the list with the names below SyncObject.
const kindsList = "sync_kinds"

// levels are the names below a hierarchy whose first level is fixed; nil if it is not, or no library says what they are.
func levels(h grid.Hierarchy, lists map[string]*pcl.List) (names []string) {
	switch l := lists[kindsList]; {
	case h == grid.IO:
		return []string{"File", "Socket", "Pipe"}
	case h == grid.SyncObject && l != nil:
		for _, v := range l.Items {
			names = append(names, v.Text)
		}
	}
	return names
}

// maxPath is how many elements a match path may have below its hierarchy.
var maxPath = map[grid.Hierarchy]int{grid.Code: 2, grid.Machine: 1, grid.Process: 1, grid.SyncObject: 2, grid.IO: 1, grid.Memory: 3}

// constraintOf checks a constraint with a path. metric is the one it stands in, or nil.
func (b *builder) constraintOf(d *syntax.Def, metric *pcl.Metric) (*pcl.Constraint, error) {
	if d.Path == nil {
		return nil, syntax.ErrorAt(d.Pos, "constraint %s: found no path, expected the path that it matches, such as /Code/*", d.Name)
	}
	h, err := matchHierarchy(d)
	if err != nil {
		return nil, err
	}
	c := &pcl.Constraint{Ident: d.Name, Pos: d.Pos, Hierarchy: h, Path: d.Path[1:], Replace: d.Replace, Key: d.Key}
	if err := checkKey(c); err != nil {
		return nil, err
	}
	if n := maxPath[h]; len(c.Path) > n {
		return nil, syntax.ErrorAt(d.Pos, "constraint %s: found %s, expected at most %d names below /%v (the path names the parent of what is chosen)",
			d.Name, c.PathText(), n, h)
	}
	if known := levels(h, b.lists); len(c.Path) > 0 && known != nil && c.Path[0] != "*" && !slices.Contains(known, c.Path[0]) {
		return nil, syntax.ErrorAt(d.Pos, "constraint %s: found /%v/%s, expected one of %s%s", d.Name, h, c.Path[0], strings.Join(known, ", "),
			syntax.DidYouMean(c.Path[0], known))
	}
	if d.Base == nil {
		return c, nil
	}
	if d.Base.By != "" {
		return nil, syntax.ErrorAt(d.Base.Pos, "constraint %s: found \"by %s\", expected it in the base of a metric only", d.Name, d.Base.By)
	}
	check := &codeChecker{b: b, own: d.Name, flag: true, up: types.ConstraintTypes(c), holds: metric != nil && metric.Style == grid.SampledFunction}
	if c.Replace {
		if metric == nil {
			return nil, syntax.ErrorAt(d.Pos, "constraint %s: found a replacement on its own, expected it inside of the metric whose base it replaces", d.Name)
		}
		check.own, check.flag, check.counters = metric.Ident, false, metric.Counters
	}
	c.Body, err = check.checkBody(d.Base)
	return c, err
}

func (b *builder) checkConstraint(d *syntax.Def) error {
	c, err := b.constraintOf(d, nil)
	if err == nil {
		b.constraints[d.Name] = c
	}
	return err
}

// checkKey refuses keys that are no numbers.
func checkKey(c *pcl.Constraint) error {
	if !c.Key {
		return nil
	}
	if c.Hierarchy == grid.IO && len(c.Path) > 0 {
		return syntax.ErrorAt(c.Pos, "constraint %s: found a key for %s, expected a flag there, which is set if ($arg[0] == $constraint[0]), as in oneFile: a key is a number that stays, and a descriptor stands for one file now and for another later",
			c.Ident, c.PathText())
	}
	if t := types.ConstraintTypes(c)[0]; t != types.Int {
		return syntax.ErrorAt(c.Pos, "constraint %s: found a key for %s, which is %v, expected it for single objects, such as /SyncObject/Mutex: their addresses are numbers",
			c.Ident, c.PathText(), t)
	}
	return nil
}

// matchHierarchy reads the head of a match path.
func matchHierarchy(d *syntax.Def) (grid.Hierarchy, error) {
	h, err := grid.ParseHierarchy(d.Path[0])
	if err != nil {
		var names []string
		for h := range grid.NumHierarchies {
			names = append(names, h.String())
		}
		return 0, syntax.ErrorAt(d.Pos, "constraint %s: found the hierarchy %q, expected one of %s%s", d.Name, d.Path[0],
			strings.Join(names, ", "), syntax.DidYouMean(d.Path[0], names))
	}
	return h, nil
}
