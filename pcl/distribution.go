package pcl

import (
	"fmt"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// Bases of kind histogram(...): beside its sum the metric has the distribution of what came to the sum, one value for each time
// that its timer was stopped, or for each += to its counter.

// kindText is the kind as PCL writes it after "base is".
func kindText(k Kind, distribution bool) string {
	if distribution {
		return "histogram(" + k.String() + ")"
	}
	return k.String()
}

// wantsAddition refuses what adds no value, or always the same, to a counter that has a distribution.
func (c *codeChecker) wantsAddition(e *syntax.Expr) {
	switch {
	case !c.out.distribution || e.X.Kind != syntax.Ident || e.X.Text != c.own:
	case e.Kind == syntax.PostInc:
		c.fail(e.Pos, "found %s for a base of kind histogram, expected %s += VALUE: of values that are all 1 there is no distribution; count with a base of kind counter",
			e, c.own)
	case e.Text == "=":
		c.fail(e.Pos, "found an assignment to %s, whose base is a histogram, expected %s += VALUE: each value that is added is one of the distribution",
			c.own, c.own)
	}
}

// distribute checks that a metric can have the distribution that its base asks for, and says what its values are.
func (m *metric) distribute() error {
	for _, c := range m.constraints {
		if c.replace && c.body != nil && c.body.distribution != m.base.distribution {
			return errorAt(c.body.pos, "metric %s: found %s in the replacement %s of a base of kind %s, expected both or neither to be a histogram",
				m.ident, kindText(c.body.kind, c.body.distribution), c.ident, kindText(m.base.kind, m.base.distribution))
		}
	}
	if !m.base.distribution {
		return nil
	}
	wrong := ""
	switch {
	case m.Style != grid.EventCounter:
		wrong = fmt.Sprintf("style %s, expected EventCounter", m.Style)
	case m.Aggregate != grid.Sum:
		wrong = fmt.Sprintf("aggregateOperator %s, expected sum", m.Aggregate)
	case m.noParked:
		wrong = `parked excluded, expected none: time in which a thread is idle can be left out of a sum, not of single values`
	}
	if wrong != "" {
		return errorAt(m.base.pos, "metric %s: its base is a histogram; found %s", m.ident, wrong)
	}
	m.Values = "s"
	if m.base.kind == Counter {
		m.Values = m.SumUnits()
	}
	return nil
}
