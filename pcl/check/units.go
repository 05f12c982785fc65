package check

import (
	"slices"
	"strings"

	"culprit/pcl"
	"culprit/pcl/syntax"
)

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
	case e.Text == string(pcl.Count):
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
