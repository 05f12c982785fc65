package pcl

import (
	"maps"
	"slices"
	"sync"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A Library is what was loaded. Load makes one. Any goroutine may use it.
type Library struct {
	sources     []Source
	metrics     []*metric
	byName      map[string]*metric // by name, else by identifier
	constraints []*constraint      // those that stand on their own, in order of loading
	lists       map[string]*list
	listOrder   []string
	hypotheses  []*Hypothesis
	expects     []Expect
	groupings   []Grouping
	traces      map[string]*Unsupported
	excludes    []exclusion
	defs        []*syntax.Def // those in force that have names, in order of loading; what Warnings looks at

	tunedAt map[string]syntax.Pos // where tunable constants have their values

	mu       sync.RWMutex
	tunables map[string]float64
}

// take moves the results of a builder into the library.
func (l *Library) take(b *builder) {
	l.metrics, l.lists, l.hypotheses = b.metrics, b.lists, b.hypotheses
	for _, name := range b.order["constraint"] {
		if c := b.constraints[name]; c != nil {
			l.constraints = append(l.constraints, c)
		}
	}
	for _, name := range b.order["resourceList"] {
		if b.lists[name] != nil {
			l.listOrder = append(l.listOrder, name)
		}
	}
	for _, byName := range b.chosen {
		l.defs = slices.AppendSeq(l.defs, maps.Values(byName))
	}
	slices.SortFunc(l.defs, func(x, y *syntax.Def) int { return b.seq[x] - b.seq[y] })
}

// Metrics lists all metrics in order of loading.
func (l *Library) Metrics() []grid.Metric {
	var out []grid.Metric
	for _, m := range l.metrics {
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
	return m != nil && m.noParked
}

func (l *Library) find(name string) (*metric, error) {
	if m := l.byName[name]; m != nil {
		return m, nil
	}
	var names []string
	for _, m := range l.metrics {
		names = append(names, m.Name)
	}
	return nil, &UnknownMetric{Name: name, Nearest: syntax.Closest(name, names)}
}

// Check reports whether the metric can be read at the focus as far as that is known without a target. The error is
// *UnknownMetric, *NoConstraint, *Unsupported or *syntax.Error.
func (l *Library) Check(metric string, focus grid.Focus) error {
	m, err := l.find(metric)
	if err != nil {
		return err
	}
	x, err := l.match(m, focus)
	if err != nil {
		return err
	}
	return x.supported(m, focus)
}

// Hypotheses lists the why axis, parents before their children. The hypotheses must not be changed.
func (l *Library) Hypotheses() []*Hypothesis { return slices.Clone(l.hypotheses) }

// Expects lists the expect definitions.
func (l *Library) Expects() []Expect { return slices.Clone(l.expects) }

// Tunable returns the value of a tunable constant; true is 1 and false is 0.
func (l *Library) Tunable(name string) (float64, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	v, ok := l.tunables[name]
	return v, ok
}

// SetTunable changes a tunable constant; hypotheses use the new value from their next evaluation on. It reports false,
// and changes nothing, if no text defines a constant of this name.
func (l *Library) SetTunable(name string, value float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.tunables[name]; !ok {
		return false
	}
	l.tunables[name] = value
	return true
}

// Tunables lists the names of the tunable constants, sorted.
func (l *Library) Tunables() []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []string
	for name := range l.tunables {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// A ConstraintInfo describes a constraint of a metric.
type ConstraintInfo struct {
	Name string
	Path string // as written: the parent of what may be chosen, "/Code/*" for one function
	How  string // "flag", "replace" or "default" (allowed there, value of the whole)
}

// Constraints lists the constraints of a metric in order; nil if there is no such metric.
func (l *Library) Constraints(metric string) []ConstraintInfo {
	m := l.byName[metric]
	if m == nil {
		return nil
	}
	var out []ConstraintInfo
	for _, c := range m.constraints {
		out = append(out, ConstraintInfo{c.ident, c.pathString(), c.how()})
	}
	return out
}

func (c *constraint) how() string {
	switch {
	case c.key:
		return "key"
	case c.body == nil:
		return "default"
	case c.replace:
		return "replace"
	}
	return "flag"
}

// A List is a resourceList.
type List struct {
	Name    string
	Kind    string   // procedure, module, string, int or float
	Items   []string // as written; patterns with their word in front
	Flavors []string // empty: any
}

// Lists lists the resource lists in order of loading.
func (l *Library) Lists() []List {
	var out []List
	for _, name := range l.listOrder {
		x := l.lists[name]
		y := List{Name: name, Kind: x.kind, Flavors: slices.Clone(x.flavors)}
		for _, v := range x.items {
			y.Items = append(y.Items, v.String())
		}
		out = append(out, y)
	}
	return out
}
