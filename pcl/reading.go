package pcl

import (
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A View is what a Reading looks at of what a metric has measured.
type View string

// The views: the average over the time of the measurement, in the unit of the metric's rate; and of single values, of a metric with a
// base of histogram(..), in the unit of the values: how many there were, what they were on the average, and what a share of them is
// not above (at most 12.5 % off).
const (
	Average View = ""
	Count   View = "count"
	Mean    View = "mean"
)

// quantiles are the views by the word that is written in expectations, as p99(METRIC).
var quantiles = map[string]float64{"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}

// Quantile is the share of values of a view such as p99; ok is false for the others.
func (v View) Quantile() (q float64, ok bool) {
	q, ok = quantiles[string(v)]
	return q, ok
}

// viewWords are the words of views in expectations.
func viewWords() []string {
	return []string{"p50", "p90", "p95", "p99", "p999", string(Mean), string(Count)}
}

// A Reading is one value that an expectation needs.
type Reading struct {
	Name   string // by which Holds, Value and Threshold ask for it: "cpu", or "p99(io_latency)"
	Metric string
	Whole  bool // it is read at the whole program, not at the expectation's focus
	View   View
}

// view reads p99(METRIC), mean(METRIC) and count(METRIC); nil if the call is none of them.
func (r *exprReader) view(e *syntax.Expr) (evaluable, error) {
	if !slices.Contains(viewWords(), e.Text) {
		return nil, nil
	}
	if !r.expects {
		return nil, errorAt(e.Pos, "found %s in a hypothesis, expected it in expect only: the search tests averages", e)
	}
	if len(e.Args) != 1 || e.Args[0].Kind != syntax.Ident {
		return nil, errorAt(e.Pos, "found %s, expected %s(METRIC)", e, e.Text)
	}
	m := r.b.metric(e.Args[0].Text)
	switch {
	case m == nil:
		return nil, r.unknown(e.Args[0])
	case m.Values == "":
		return nil, errorAt(e.Args[0].Pos, "found %s of %s, expected it of a metric with a base of histogram(..): only such a one keeps single values", e.Text, m.Name)
	case slices.Contains(r.global, m.Name):
		return nil, r.twoFoci(e.Args[0], m)
	}
	r.local[m.Name] = true
	r.use(m)
	name := e.Text + "(" + m.Name + ")"
	r.reads(Reading{Name: name, Metric: m.Name, View: View(e.Text)})
	return func(get func(string) float64) float64 { return get(name) }, nil
}

// reads notes a reading once.
func (r *exprReader) reads(one Reading) {
	if !slices.Contains(r.readings, one) {
		r.readings = append(r.readings, one)
	}
}

// unknownUnit is the unit of what has one that is not known, such as a product of two.
const unknownUnit = "?"

// unitOfTest is the unit of both sides of a comparison, "" where they have none or none that is known.
func (r *exprReader) unitOfTest(e *syntax.Expr) string {
	if unit := combined("+", r.unit(e.X), r.unit(e.Y)); unit != unknownUnit {
		return unit
	}
	return ""
}

// unit is the unit of an expression that was read, "" for a number.
func (r *exprReader) unit(e *syntax.Expr) string {
	switch e.Kind {
	case syntax.Ident, syntax.At:
		if m := r.b.metric(e.Text); m != nil {
			return m.RateUnits()
		}
	case syntax.Negate:
		return r.unit(e.X)
	case syntax.Binary:
		return combined(e.Text, r.unit(e.X), r.unit(e.Y))
	case syntax.Call:
		return r.unitOfCall(e)
	}
	return ""
}

func (r *exprReader) unitOfCall(e *syntax.Expr) (unit string) {
	switch {
	case e.Text == string(Count):
		return "values"
	case slices.Contains(viewWords(), e.Text):
		return r.b.metric(e.Args[0].Text).Values
	}
	for _, a := range e.Args {
		unit = combined("+", unit, r.unit(a))
	}
	return unit
}

// combined is the unit of a sum, difference, product or quotient.
func combined(op, x, y string) string {
	switch {
	case x == unknownUnit || y == unknownUnit:
		return unknownUnit
	case op == "/" && x == y:
		return ""
	case y == "":
		return x
	case x == "" && op != "/":
		return y
	case x == y && op != "*":
		return x
	case op == "/" && x != "":
		return bare(x, y) + " per " + bare(y, x)
	}
	return unknownUnit
}

// bare leaves out "/s" of a unit where both sides of a quotient have it.
func bare(unit, other string) string {
	if strings.HasSuffix(unit, "/s") && strings.HasSuffix(other, "/s") {
		return strings.TrimSuffix(unit, "/s")
	}
	return unit
}

// Key is the pair that a reading of the expectation is of.
func (e *Expectation) Key(one Reading) grid.PairKey {
	if one.Whole {
		return grid.PairKey{Metric: one.Metric, Focus: grid.Whole()}
	}
	return grid.PairKey{Metric: one.Metric, Focus: e.Focus}
}
