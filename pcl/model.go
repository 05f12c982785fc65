package pcl

import (
	"slices"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A metric is a checked definition.
type metric struct {
	grid.Metric
	ident       string
	def         *syntax.Def
	base        *body
	counters    []string
	constraints []*constraint // in order of listing
	flavors     []string      // empty: any
	noParked    bool
	developer   bool
}

// A constraint is a checked definition, of its own or inside a metric.
type constraint struct {
	ident     string
	pos       syntax.Pos
	hierarchy grid.Hierarchy
	path      []string // below the hierarchy; "*" matches any name
	replace   bool
	key       bool  // what is chosen is told apart by the value of the metric's key
	body      *body // nil for "is default" and "is key"
}

// A body is a checked block with what it counts in.
type body struct {
	pos    syntax.Pos
	kind   Kind
	kernel string
	event  string // of hwCounter without code, which the kernel counts
	// distribution is set for histogram(kind).
	distribution bool
	by           string       // the counter by whose value it is told apart, "" if it is not
	block        *syntax.Stmt // nil: nothing to insert
	// plain is set if starts and stops (or the assignments of a flag) are not pairs of an entry and a return: they then
	// cannot belong to activations.
	plain bool
	lists []string // resource lists it names, sorted
	// unsupported is the first thing in it that this version cannot do.
	unsupported *Unsupported
}

// A list is a checked resourceList.
type list struct {
	name    string
	kind    string // procedure module string int float
	items   []syntax.Value
	flavors []string
	library bool
}

// pathString is the match path as written.
func (c *constraint) pathString() string {
	s := "/" + c.hierarchy.String()
	for _, e := range c.path {
		s += "/" + e
	}
	return s
}

// matches reports whether the constraint is the one for these elements: its path names the parent of the last one.
func (c *constraint) matches(elems []string) bool {
	if len(elems) != len(c.path)+1 {
		return false
	}
	for i, e := range c.path {
		if e != "*" && e != elems[i] {
			return false
		}
	}
	return true
}

// overlaps reports whether some focus matches both.
func (c *constraint) overlaps(d *constraint) bool {
	if c.hierarchy != d.hierarchy || len(c.path) != len(d.path) {
		return false
	}
	for i := range c.path {
		if c.path[i] != "*" && d.path[i] != "*" && c.path[i] != d.path[i] {
			return false
		}
	}
	return true
}

// matchOrder is the order in which flags are set and tested: code before objects.
var matchOrder = [...]grid.Hierarchy{grid.Code, grid.SyncObject, grid.IO, grid.Memory, grid.Machine, grid.Process}

// needsNone: to restrict a metric to a process or a machine it is enough to choose where it is inserted.
func needsNone(h grid.Hierarchy) bool { return h == grid.Process || h == grid.Machine }

// A matching is what applies to a metric at a focus.
type matching struct {
	replace *constraint
	flags   []*constraint // in the order of matchOrder
	key     *constraint   // one that is a key; nil if none is
	union   *union        // of the item that the focus selects; nil if it selects none
}

// match finds the constraints of m that apply at the focus, and at the item that it selects, if it does.
func (m *metric) match(focus grid.Focus, item *GroupingItem) (matching, error) {
	var out matching
	for _, h := range matchOrder {
		elems := focus.Elements(h)
		if item != nil && item.Base == h {
			if err := out.matchItem(m, focus, item); err != nil {
				return out, err
			}
			continue
		}
		if len(elems) == 0 {
			continue
		}
		covered := needsNone(h)
		for _, c := range m.constraints {
			if c.hierarchy != h || !c.matches(elems) {
				continue
			}
			covered = true
			switch {
			case c.replace && out.replace != nil:
				return out, errorAt(c.pos, "metric %s at %v: both %s and %s would replace the base; name one hierarchy only",
					m.Name, focus, out.replace.ident, c.ident)
			case c.replace:
				out.replace = c
			case c.key && out.key != nil:
				return out, errorAt(c.pos, "metric %s at %v: both %s and %s are keys; keep one of them", m.Name, focus, out.key.ident, c.ident)
			case c.key:
				out.key = c
			case c.body != nil:
				out.flags = append(out.flags, c)
			}
		}
		if !covered {
			return out, &NoConstraint{Metric: m.Name, Hierarchy: h, Focus: focus, Known: m.paths()}
		}
	}
	return out, out.dropFlags(m, focus)
}

// dropFlags: a replacement counts by itself and no flag is made with it. A flag of another hierarchy would be lost
// without a word, so that is refused.
func (x *matching) dropFlags(m *metric, focus grid.Focus) error {
	if x.replace == nil {
		return nil
	}
	restricting := x.flags
	if x.key != nil {
		restricting = append(slices.Clone(restricting), x.key)
	}
	for _, c := range restricting {
		if c.hierarchy != x.replace.hierarchy || c.key {
			return errorAt(x.replace.pos, "metric %s at %v: %s replaces the base, so the metric cannot be restricted by %s at the same time",
				m.Name, focus, x.replace.ident, c.ident)
		}
	}
	x.flags = nil
	return nil
}

// paths lists the match paths of the metric in order, each once.
func (m *metric) paths() []string {
	var out []string
	for _, c := range m.constraints {
		if p := c.pathString(); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// covers reports whether the metric can be read at some focus below the hierarchy.
func (m *metric) covers(h grid.Hierarchy) bool {
	return needsNone(h) || slices.ContainsFunc(m.constraints, func(c *constraint) bool { return c.hierarchy == h })
}

func errorAt(pos syntax.Pos, format string, args ...any) error {
	p := problemAt(pos, format, args...)
	return &syntax.Error{Pos: p.Pos, Msg: p.Msg}
}
