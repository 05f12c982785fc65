package pcl

import (
	"slices"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A Library is what was loaded. Any goroutine may use it.
type Library struct {
	defs   Definitions
	byName map[string]*Metric // by name, else by identifier
	lists  map[string]*List
}

// Definitions are what a library is made of: what its texts define, checked. They are not changed once a library has them, but for the
// values of tunable constants.
type Definitions struct {
	Sources     []Source // in order of loading
	Metrics     []*Metric
	Constraints []*Constraint // those that stand on their own
	Listed      []*List
	Hypotheses  []*Hypothesis
	Expects     []Expect
	Groupings   Groupings
	Excludes    []Exclusion
	Traces      map[string]*Unsupported // by name, with why it cannot be compiled
	Tunables    *Tunables
	Trees       []*syntax.Def // those in force that have names, as written; in order of loading
}

// NewLibrary makes a library of definitions, each kind in order of loading.
func NewLibrary(d Definitions) *Library {
	l := &Library{defs: d, byName: IndexMetrics(d.Metrics), lists: map[string]*List{}}
	for _, x := range d.Listed {
		l.lists[x.Name] = x
	}
	return l
}

// Metrics lists all metrics in order of loading.
func (l *Library) Metrics() []grid.Metric {
	var out []grid.Metric
	for _, m := range l.defs.Metrics {
		out = append(out, m.Metric)
	}
	return out
}

// Metric returns the metric of this name; its identifier in PCL serves as well.
func (l *Library) Metric(name string) (grid.Metric, bool) {
	if m := l.byName[name]; m != nil {
		return m.Metric, true
	}
	return grid.Metric{}, false
}

// Waits reports whether a metric tells of threads that wait: parked ones are left out of it.
func (l *Library) Waits(metric string) bool {
	m := l.byName[metric]
	return m != nil && m.ExcludeParked
}

// Find is definition; the error is *UnknownMetric.
func (l *Library) Find(name string) (*Metric, error) {
	if m := l.byName[name]; m != nil {
		return m, nil
	}
	var names []string
	for _, m := range l.defs.Metrics {
		names = append(names, m.Name)
	}
	return nil, &UnknownMetric{Name: name, Nearest: syntax.Closest(name, names)}
}

// Hypotheses lists the why axis, parents before their children. The hypotheses must not be changed.
func (l *Library) Hypotheses() []*Hypothesis { return slices.Clone(l.defs.Hypotheses) }

// Expects lists the expect definitions.
func (l *Library) Expects() []Expect { return slices.Clone(l.defs.Expects) }

// Tunable returns the value of a tunable constant; true is 1 and false is 0.
func (l *Library) Tunable(name string) (float64, bool) { return l.defs.Tunables.Value(name) }

// AboutTunable is what the text that defines a tunable constant says of it; "" if it says nothing.
func (l *Library) AboutTunable(name string) string { return l.defs.Tunables.About(name) }

// Tunables lists the names of the tunable constants, sorted.
func (l *Library) Tunables() []string { return l.defs.Tunables.Names() }

// SetTunable changes a tunable constant; hypotheses use the new value from their next evaluation on. It reports false,
// and changes nothing, if no text defines a constant of this name.
func (l *Library) SetTunable(name string, value float64) bool {
	return l.defs.Tunables.set(name, value)
}

// Definition is the metric of a name, or of an identifier; nil if there is none.
func (l *Library) Definition(name string) *Metric { return l.byName[name] }

// Trees are the definitions in force that have names, as they are written; in order of loading. They must not be changed.
func (l *Library) Trees() []*syntax.Def { return l.defs.Trees }

// List is the resource list of a name, nil if there is none.
func (l *Library) List(name string) *List { return l.lists[name] }

// Lists lists the resource lists in order of loading. They must not be changed.
func (l *Library) Lists() []*List { return slices.Clone(l.defs.Listed) }

// IndexMetrics is the table of metrics by name and, where no name is in the way, by identifier.
func IndexMetrics(ms []*Metric) map[string]*Metric {
	out := map[string]*Metric{}
	for _, m := range ms {
		out[m.Ident] = m
	}
	for _, m := range ms {
		out[m.Name] = m
	}
	return out
}

// CompileTrace would compile a trace; this version answers with an *Unsupported for every trace that is defined.
func (l *Library) CompileTrace(name string) error {
	if u, ok := l.defs.Traces[name]; ok {
		return u
	}
	return syntax.ErrorAt(syntax.Pos{}, "no trace of the name %q is defined", name)
}
