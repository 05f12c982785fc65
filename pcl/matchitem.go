package pcl

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A focus on an item is the union of what it stands for. Nothing is added up: one constraint of the metric is applied to all
// parts at once, so that a function is counted once however often it is named, and a timer runs from the outermost entry
// into any part.

// A Union is what applies to a metric at an item.
type Union struct {
	Item  *GroupingItem
	first *Constraint // it stands for all of them among the flags, or as the replacement
	Uses  []Use
}

// A Use is a constraint with the parts it is for: the functions and modules of a code item together, its loops together
// (Path is nil then), or one object.
type Use struct {
	Constraint *Constraint
	Path       []string
}

// Match finds the constraints of a metric that apply at the focus.
func (l *Library) Match(m *Metric, focus grid.Focus) (Match, error) {
	item, err := l.Item(focus)
	if err != nil {
		return Match{}, err
	}
	return m.Match(focus, item)
}

// matchItem finds what applies to the parts of an item. All parts must be restricted in the same way, since they share one
// flag, or one variable.
func (x *Match) matchItem(m *Metric, focus grid.Focus, item *GroupingItem) error {
	if e := focus.Elements(item.Base); len(e) > 0 {
		return fmt.Errorf("%v: %v stands for parts of /%v, and /%v/%s is chosen as well; name one of them", focus, item.Focus(), item.Base,
			item.Base, strings.Join(e, "/"))
	}
	uses, err := m.usesFor(focus, item)
	if err != nil {
		return err
	}
	first := uses[0].Constraint
	x.Union = &Union{Item: item, first: first, Uses: uses}
	if first.Key {
		return syntax.ErrorAt(first.Pos, "metric %s at %v: %s is a key, which selects single objects; name one of the objects of the item", m.Name, focus, first.Ident)
	}
	for _, u := range uses[1:] {
		if err := sameWay(m, focus, first, u.Constraint); err != nil {
			return err
		}
	}
	switch {
	case first.Replace && x.Replace != nil:
		return syntax.ErrorAt(first.Pos, "metric %s at %v: both %s and %s would replace the base; name one hierarchy only", m.Name, focus, x.Replace.Ident, first.Ident)
	case first.Replace:
		x.Replace = first
	case first.Body != nil:
		x.Flags = append(x.Flags, first)
	}
	return nil
}

// sameWay refuses parts that cannot share a variable. Code that is not pairs of an entry and a return would switch off at one part
// what another one has switched on.
func sameWay(m *Metric, focus grid.Focus, a, b *Constraint) error {
	together := a.How() == b.How()
	if together && a.Body != nil {
		together = a.Body.Kind == b.Body.Kind && (a == b || !a.Body.Plain && !b.Body.Plain || a.Replace && (a.Body.Kind == Counter || a.Body.Kind == Gauge))
		together = together && (a != b || !a.Body.Plain || a.Hierarchy == grid.Code)
	}
	if together {
		return nil
	}
	return syntax.ErrorAt(b.Pos, "metric %s at %v: %s and %s cannot be joined for the parts of one item; make an item for each kind of them", m.Name, focus, a.Ident, b.Ident)
}

// usesFor finds the constraint for each part of an item.
func (m *Metric) usesFor(focus grid.Focus, item *GroupingItem) ([]Use, error) {
	var uses []Use
	for _, p := range item.Paths() {
		cons, err := m.constraintFor(focus, item, p)
		if err != nil {
			return nil, err
		}
		u := Use{Constraint: cons, Path: p}
		if item.Base == grid.Code {
			u.Path = nil
		}
		if u.Path != nil || !slices.ContainsFunc(uses, func(o Use) bool { return o.Constraint == cons }) {
			uses = append(uses, u)
		}
	}
	return uses, nil
}

// constraintFor is the constraint for one part. Functions and modules are taken together, as one module if the metric can be
// read at modules.
func (m *Metric) constraintFor(focus grid.Focus, item *GroupingItem, path []string) (*Constraint, error) {
	lengths := []int{len(path)}
	if item.Base == grid.Code && len(path) <= 2 {
		lengths = []int{1, 2}
	}
	for _, n := range lengths {
		var found *Constraint
		for _, c := range m.Constraints {
			if c.Hierarchy != item.Base || !c.matchesPart(path, n) {
				continue
			}
			if found != nil {
				return nil, syntax.ErrorAt(c.Pos, "metric %s at %v: both %s and %s apply to %v, expected one of them", m.Name, focus, found.Ident, c.Ident, item.Focus())
			}
			found = c
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, &NoConstraint{Metric: m.Name, Hierarchy: item.Base, Focus: focus, Known: m.paths()}
}

// matchesPart reports whether the constraint is for parts with n elements: for code, where many are taken together, only
// one that is for every module is.
func (c *Constraint) matchesPart(path []string, n int) bool {
	if c.Hierarchy != grid.Code {
		return c.matches(path)
	}
	return len(c.Path) == n-1 && !slices.ContainsFunc(c.Path, func(e string) bool { return e != "*" })
}

// bodies are the constraints whose bodies are compiled beside what counts, all those of an item included.
func (x *Match) bodies() []*Constraint {
	out := slices.Clone(x.Flags)
	if x.Union != nil {
		for _, u := range x.Union.Uses {
			if u.Constraint.Body != nil && !slices.Contains(out, u.Constraint) {
				out = append(out, u.Constraint)
			}
		}
	}
	return out
}

// OfLoops reports whether the parts are loops: the constraint is for what is below a function.
func (u *Use) OfLoops() bool {
	return u.Constraint.Hierarchy == grid.Code && len(u.Constraint.Path) == 2
}

// UsesOf are the uses of a constraint: those of the item that it stands for, or the one that the focus chooses.
func (x *Match) UsesOf(cons *Constraint) []Use {
	if x.Union != nil && cons == x.Union.first {
		return x.Union.Uses
	}
	return nil
}
