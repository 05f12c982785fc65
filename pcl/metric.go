package pcl

import (
	"slices"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A Metric is a checked definition.
type Metric struct {
	grid.Metric
	Ident         string        // the name that PCL gives it, which is that of its own variable
	Def           *syntax.Def   // as written
	Base          *Body         // what is counted where no constraint replaces it
	Counters      []string      // its other variables
	Constraints   []*Constraint // in order of listing
	Flavors       []string      // of targets that it is for; empty: any
	ExcludeParked bool          // time of parked threads is left out
	Samples       string        // "io" or "sync": told by looks at threads that wait for that; "running": by samples of those that run; never by probes
	Developer     bool          // mode developer
}

// Kept reports whether the kernel keeps what the metric is at the whole program: nothing is put into it there.
func (m *Metric) Kept() bool {
	return m.Samples == "" && m.Base != nil && m.Base.Kind == Kernel && m.Base.Block == nil && len(m.Counters) == 0
}

// VariableKind is the kind of the variable in which a body of kind k counts.
func (m *Metric) VariableKind(k Kind) Kind {
	if k == Counter && m.Style == grid.SampledFunction {
		return ThreadGauge
	}
	return k
}

// paths lists the match paths of the metric in order, each once.
func (m *Metric) paths() []string {
	var out []string
	for _, c := range m.Constraints {
		if p := c.PathText(); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Covers reports whether the metric can be read at some focus below the hierarchy.
func (m *Metric) Covers(h grid.Hierarchy) bool {
	return needsNone(h) || slices.ContainsFunc(m.Constraints, func(c *Constraint) bool { return c.Hierarchy == h })
}

// A Constraint is a checked definition, of its own or inside a metric.
type Constraint struct {
	Ident     string
	Pos       syntax.Pos
	Hierarchy grid.Hierarchy
	Path      []string // below the hierarchy; "*" matches any name
	Replace   bool
	Key       bool  // what is chosen is one value of the metric's key
	Body      *Body // nil for "is default" and "is key"
}

// PathText is the match path as written.
func (c *Constraint) PathText() string {
	s := "/" + c.Hierarchy.String()
	for _, e := range c.Path {
		s += "/" + e
	}
	return s
}

// matches reports whether the constraint is the one for these elements: its path names the parent of the last one.
func (c *Constraint) matches(elems []string) bool {
	if len(elems) != len(c.Path)+1 {
		return false
	}
	for i, e := range c.Path {
		if e != "*" && e != elems[i] {
			return false
		}
	}
	return true
}

// Overlaps reports whether some focus matches both.
func (c *Constraint) Overlaps(d *Constraint) bool {
	if c.Hierarchy != d.Hierarchy || len(c.Path) != len(d.Path) {
		return false
	}
	for i := range c.Path {
		if c.Path[i] != "*" && d.Path[i] != "*" && c.Path[i] != d.Path[i] {
			return false
		}
	}
	return true
}

// How tells what the constraint does where it applies: "flag", "replace", "key", or "default" for what is allowed and changes nothing.
func (c *Constraint) How() string {
	switch {
	case c.Key:
		return "key"
	case c.Body == nil:
		return "default"
	case c.Replace:
		return "replace"
	}
	return "flag"
}

// A Body is a checked block with what it counts in.
type Body struct {
	Pos    syntax.Pos
	Kind   Kind
	Kernel string // the quantity of kernel(...)
	Event  string // of hwCounter without code, which the kernel counts
	// Distribution is set for histogram(kind).
	Distribution bool
	By           string       // the counter that the base is keyed by, "" if it is not
	Block        *syntax.Stmt // nil: nothing to insert
	// Plain is set if starts and stops (or the assignments of a flag) are not pairs of an entry and a return: they then
	// cannot belong to activations.
	Plain       bool
	Inserts     bool     // it has code
	Constrained bool     // some of its code waits for flags
	Lists       []string // resource lists it names, sorted
	// Unsupported is the first thing in it that this version cannot do.
	Unsupported *Unsupported
}

// OwnLocks is the list of the functions that wait for locks which languages and databases have made for themselves. No metric needs it: what threads
// wait for in them is never idleness.
const OwnLocks = "own_locks"

// A List is a checked resourceList.
type List struct {
	Name    string
	Kind    string         // procedure module string int float
	Items   []syntax.Value // as written
	Flavors []string       // of targets that it is for; empty: any
	Library bool           // its names are those of a library, which a target need not have
}
