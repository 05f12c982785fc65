package check

import (
	"fmt"
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// A metricChecker checks one definition, item by item, and fills in the metric.
type metricChecker struct{ *pcl.Metric }

func (b *builder) checkMetric(d *syntax.Def) error {
	have, err := uniqueItems(d, "constraint", "counter")
	if err == nil {
		err = require(d, have, "name", "units", "style", "aggregateOperator", "base")
	}
	if err != nil {
		return err
	}
	m := &metricChecker{&pcl.Metric{Ident: d.Name, Def: d, Flavors: texts(have["flavor"])}}
	if err = m.words(have); err != nil {
		return err
	}
	if err = m.readCounters(); err != nil {
		return err
	}
	check := &codeChecker{b: b, own: d.Name, counters: m.Counters, holds: m.Style == grid.SampledFunction}
	if m.Base, err = check.checkBody(have["base"].Base); err != nil {
		return err
	}
	if err = b.metricConstraints(m.Metric); err != nil {
		return err
	}
	if err = m.waitsForFlags(); err != nil {
		return err
	}
	if err = m.distribute(); err != nil {
		return err
	}
	if err = m.sampled(have["samples"]); err != nil {
		return err
	}
	if err = m.checkKeys(); err != nil {
		return err
	}
	if err = m.holds(); err != nil {
		return err
	}
	b.defs.Metrics = append(b.defs.Metrics, m.Metric)
	return nil
}

// words reads the items that are one word or one string.
func (m *metricChecker) words(have map[string]*syntax.Item) error {
	m.Name, m.Units, m.Doc = first(have["name"]), first(have["units"]), first(have["doc"])
	if m.Name == "" || strings.ContainsAny(m.Name, "@,/ \t") {
		return syntax.ErrorAt(have["name"].Values[0].Pos, "found the name %q, expected one without blanks, commas, slashes and @, such as my_calls", m.Name)
	}
	for key, allowed := range map[string][]string{"parked": {"excluded", "counted"}, "samples": {"io", "sync", "running"}, "mode": {"developer", "normal"}} {
		if it := have[key]; it != nil {
			if err := oneOf(it, allowed...); err != nil {
				return err
			}
		}
	}
	m.ExcludeParked = first(have["parked"]) == "excluded"
	m.Samples = first(have["samples"])
	m.Developer = first(have["mode"]) == "developer"
	return m.enums(have)
}

func (m *metricChecker) enums(have map[string]*syntax.Item) error {
	if err := oneOf(have["style"], "EventCounter", "SampledFunction"); err != nil {
		return err
	}
	if err := oneOf(have["aggregateOperator"], "sum", "min", "max", "avg"); err != nil {
		return err
	}
	m.Style, _ = grid.ParseStyle(first(have["style"]))
	m.Aggregate, _ = grid.ParseAggregate(first(have["aggregateOperator"]))
	m.UnitsType = grid.Unnormalized
	if m.Style == grid.SampledFunction {
		m.UnitsType = grid.Sampled
	}
	if it := have["unitsType"]; it != nil {
		if err := oneOf(it, "normalized", "unnormalized", "sampled"); err != nil {
			return err
		}
		m.UnitsType, _ = grid.ParseUnitsType(first(it))
		if m.UnitsType == grid.Sampled && m.Style == grid.EventCounter {
			return syntax.ErrorAt(it.Values[0].Pos, "metric %s: found unitsType sampled, expected unnormalized or normalized: what a metric of style EventCounter counts is divided by time; "+
				"a value that holds has style SampledFunction", m.Ident)
		}
	}
	return nil
}

func (m *metricChecker) readCounters() error {
	for _, it := range m.Def.Items {
		if it.Key != "counter" {
			continue
		}
		name := first(it)
		if name == m.Ident || slices.Contains(m.Counters, name) {
			return syntax.ErrorAt(it.Pos, "metric %s: found the counter %q a second time, expected another name", m.Ident, name)
		}
		if len(m.Counters) == maxCounters {
			return syntax.ErrorAt(it.Pos, "metric %s: found more than %d counters, expected less; each takes room for every thread", m.Ident, maxCounters)
		}
		m.Counters = append(m.Counters, name)
	}
	return nil
}

func (b *builder) metricConstraints(m *pcl.Metric) error {
	for _, it := range m.Def.Items {
		if it.Def == nil {
			continue
		}
		c, err := b.metricConstraint(m, it.Def)
		if err != nil {
			return err
		}
		for _, other := range m.Constraints {
			if other.Ident == c.Ident {
				return syntax.ErrorAt(it.Def.Pos, "metric %s: found the constraint %q a second time, expected it once", m.Ident, c.Ident)
			}
			if c.Replace && other.Replace && c.Overlaps(other) {
				return syntax.ErrorAt(it.Def.Pos, "metric %s: found %s and %s, which replace the base at the same focus, expected one of them",
					m.Ident, other.Ident, c.Ident)
			}
		}
		if slices.Contains(m.Counters, c.Ident) {
			return syntax.ErrorAt(it.Def.Pos, "metric %s: found a constraint and a counter of the name %q, expected different names", m.Ident, c.Ident)
		}
		if len(m.Constraints) == maxConstraints {
			return syntax.ErrorAt(it.Def.Pos, "metric %s: found more than %d constraints, expected less; \"*\" in a path matches any name", m.Ident, maxConstraints)
		}
		m.Constraints = append(m.Constraints, c)
	}
	return nil
}

func (b *builder) metricConstraint(m *pcl.Metric, d *syntax.Def) (*pcl.Constraint, error) {
	if d.Path != nil {
		return b.constraintOf(d, m)
	}
	if c, ok := b.constraints[d.Name]; ok {
		return c, nil
	}
	return nil, syntax.ErrorAt(d.Pos, "metric %s: found the unknown constraint %q%s, expected one that is defined", m.Ident, d.Name,
		syntax.DidYouMean(d.Name, names(b, b.constraints)))
}

// waitsForFlags refuses code that waits for flags in a metric that has none.
func (m *metricChecker) waitsForFlags() (err error) {
	if len(m.Constraints) > 0 {
		return nil
	}
	anyStmt(m.Base.Block, func(s *syntax.Stmt) bool {
		if s.Constrained {
			err = syntax.ErrorAt(s.ConstrainedPos, "metric %s: found constrained in a metric without a constraint, expected the item constraint procedureInclusive; (or another one) that it waits for, or the code without the word",
				m.Ident)
		}
		return s.Constrained
	})
	return err
}

// distribute checks that a metric can have the distribution that its base asks for, and says what its values are.
func (m *metricChecker) distribute() error {
	for _, c := range m.Constraints {
		if c.Replace && c.Body != nil && c.Body.Distribution != m.Base.Distribution {
			return syntax.ErrorAt(c.Body.Pos, "metric %s: found %s in the replacement %s of a base of kind %s, expected both or neither to be a histogram",
				m.Ident, pcl.KindText(c.Body.Kind, c.Body.Distribution), c.Ident, pcl.KindText(m.Base.Kind, m.Base.Distribution))
		}
	}
	if !m.Base.Distribution {
		return nil
	}
	wrong := ""
	switch {
	case m.Style != grid.EventCounter:
		wrong = fmt.Sprintf("style %s, expected EventCounter", m.Style)
	case m.Aggregate != grid.Sum:
		wrong = fmt.Sprintf("aggregateOperator %s, expected sum", m.Aggregate)
	case m.ExcludeParked:
		wrong = `parked excluded, expected none: time in which a thread is idle can be left out of a sum, not of single values`
	}
	if wrong != "" {
		return syntax.ErrorAt(m.Base.Pos, "metric %s: its base is a histogram; found %s", m.Ident, wrong)
	}
	m.Values = "s"
	if m.Base.Kind == pcl.Counter {
		m.Values = m.SumUnits()
	}
	return nil
}

// sampled checks that what looks at waiting threads tell is a time that they wait.
func (m *metricChecker) sampled(it *syntax.Item) error {
	switch {
	case it == nil, m.Samples == "running" && m.Base.Kind == pcl.Kernel:
	case m.Samples == "running":
		return syntax.ErrorAt(it.Values[0].Pos, `metric %s: found samples running with a base of kind %s, expected kernel("system_time") or kernel("fault_time"): `+
			"samples of running threads tell for how long they are in the kernel, and for what", m.Ident, pcl.KindText(m.Base.Kind, m.Base.Distribution))
	case m.Base.Kind != pcl.WallTimer || m.Base.Distribution:
		return syntax.ErrorAt(it.Values[0].Pos, "metric %s: found samples with a base of kind %s, expected wallTimer: samples of waiting threads tell for how long they wait",
			m.Ident, pcl.KindText(m.Base.Kind, m.Base.Distribution))
	}
	return nil
}

// holds checks that gauges are of the style of values, and notes whether the metric's value is known absolutely.
func (m *metricChecker) holds() error {
	bodies := []*pcl.Body{m.Base}
	for _, c := range m.Constraints {
		if c.Replace && c.Body != nil {
			bodies = append(bodies, c.Body)
		}
	}
	gauge, sets := false, false
	for _, b := range bodies {
		if b.Kind == pcl.Gauge && m.Style != grid.SampledFunction {
			return syntax.ErrorAt(b.Pos, "metric %s: found a gauge and the style %s, expected style SampledFunction: a gauge is a value that holds, not one that grows", m.Ident, m.Style)
		}
		gauge = gauge || m.VariableKind(b.Kind).Holds()
		sets = sets || assigns(b, m.Ident)
	}
	m.SinceAttach = gauge && !sets
	return nil
}

// assigns reports whether code of the body assigns to a variable.
func assigns(b *pcl.Body, own string) bool {
	for _, c := range allCode(b.Block) {
		if e := c.Expr; e.Kind == syntax.Assign && e.Text == "=" && e.X.Text == own {
			return true
		}
	}
	return false
}

// checkKeys checks that the keys of constraints and the one of the base belong together.
func (m *metricChecker) checkKeys() error {
	for _, c := range m.Constraints {
		if c.Key && m.Base.By == "" {
			return syntax.ErrorAt(m.Base.Pos, "metric %s: found the key %s and a base without a key, expected \"base is %s by\" a counter that holds the address",
				m.Ident, c.Ident, pcl.KindText(m.Base.Kind, m.Base.Distribution))
		}
	}
	at := m.Base.Pos
	switch {
	case m.Base.By == "":
		return nil
	case !slices.Contains(m.Counters, m.Base.By):
		return syntax.ErrorAt(at, "metric %s: found \"by %s\", expected a counter of the metric", m.Ident, m.Base.By)
	case m.Base.Distribution || m.Base.Kind != pcl.Counter && m.Base.Kind != pcl.WallTimer && m.Base.Kind != pcl.ProcessTimer:
		return syntax.ErrorAt(at, "metric %s: found a base of kind %s with a key, expected a counter, a wallTimer or a processTimer", m.Ident, pcl.KindText(m.Base.Kind, m.Base.Distribution))
	case m.Style != grid.EventCounter || m.Aggregate != grid.Sum:
		return syntax.ErrorAt(at, "metric %s: its base is keyed by %s; found style %s and aggregateOperator %s, expected EventCounter and sum", m.Ident, m.Base.By, m.Style, m.Aggregate)
	}
	return nil
}
