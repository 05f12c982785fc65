package pcl

import (
	"fmt"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// Gauges: variables of metrics of style SampledFunction. What is measured is the value itself, which holds until it is changed. A base
// of kind counter has one for each thread, one of kind gauge has one for the whole process, whichever thread changes it.

// gaugeKind is the kind of the variable that a body counts in.
func (m *metric) gaugeKind(k Kind) Kind {
	if k == Counter && m.Style == grid.SampledFunction {
		return ThreadGauge
	}
	return k
}

// holds checks that gauges are of the style of values, and notes whether the metric's value is known absolutely.
func (m *metric) holds() error {
	bodies := []*body{m.base}
	for _, c := range m.constraints {
		if c.replace && c.body != nil {
			bodies = append(bodies, c.body)
		}
	}
	gauge, sets := false, false
	for _, b := range bodies {
		if b.kind == Gauge && m.Style != grid.SampledFunction {
			return errorAt(b.pos, "metric %s: found a gauge and the style %s, expected style SampledFunction: a gauge is a value that holds, not one that grows", m.ident, m.Style)
		}
		gauge = gauge || m.gaugeKind(b.kind).Holds()
		sets = sets || b.sets(m.ident)
	}
	m.SinceAttach = gauge && !sets
	return nil
}

// sets reports whether code of the body assigns to a variable.
func (b *body) sets(own string) bool {
	for _, c := range allCode(b.block) {
		if e := c.Expr; e.Kind == syntax.Assign && e.Text == "=" && e.X.Text == own {
			return true
		}
	}
	return false
}

// wantsNoGauge refuses that a function of the target gets the address of a gauge.
func (c *codeChecker) wantsNoGauge(e *syntax.Expr) {
	if e.X.Text == c.own && !c.flag && (c.holds || c.out.kind == Gauge) {
		c.fail(e.Pos, "found the address of the gauge %s, expected that of a counter: a change of a gauge is noted with its time; let the function change a counter, and assign that", c.own)
	}
}

// gaugeAt refuses to tell the threads of a process apart in what is one value of all of them.
func (b *body) gaugeAt(m *metric, focus grid.Focus) error {
	if b.kind == Gauge && len(focus.Elements(grid.Process)) > 1 {
		return fmt.Errorf("%s at %v: found a thread, expected a process: its base is a gauge, which is one value of the whole process; one of each thread is written \"base is counter\"",
			m.Name, focus)
	}
	return nil
}

// Sets reports whether code of the plan assigns to the metric's own variable: its value is known absolutely from then on. Adds reports
// whether some adds to it.
func (p *Plan) Sets() bool { return p.has(OpSet) }

// Adds is the other half of Sets.
func (p *Plan) Adds() bool { return p.has(OpAdd) }

func (p *Plan) has(op Op) bool {
	for i := range p.Requests {
		for _, in := range p.Requests[i].Code {
			if in.Op == op && in.Var == 0 {
				return true
			}
		}
	}
	return false
}
