package check

import (
	"slices"

	"culprit/pcl/syntax"
)

// isShare tells whether an expression that was read is a part of a time in the whole of it: a quotient of times, or a metric that is one.
// A quotient of other things, such as attempts for each request, may well exceed 1, and so may the CPU time of many threads.
func (r *exprReader) isShare(e *syntax.Expr) bool {
	switch e.Kind {
	case syntax.Ident, syntax.At:
		m := r.b.metric(e.Text)
		return m != nil && m.RateUnits() == "fraction"
	case syntax.Binary:
		return e.Text == "/" && r.ofTime(e.X) && r.ofTime(e.Y)
	case syntax.Call:
		return (e.Text == "min" || e.Text == "max") && slices.ContainsFunc(e.Args, r.isShare)
	}
	return false
}

// timeUnits are the units of what is a time in each second: of threads, or of the CPUs that they could have.
var timeUnits = []string{"s/s", "CPUs", "threads"}

// ofTime tells whether an expression has metrics, and all of them are times.
func (r *exprReader) ofTime(e *syntax.Expr) bool {
	metrics, times := 0, 0
	e.Walk(func(e *syntax.Expr) bool {
		if m := r.b.metric(e.Text); m != nil && (e.Kind == syntax.Ident || e.Kind == syntax.At) {
			metrics++
			if slices.Contains(timeUnits, m.RateUnits()) {
				times++
			}
		}
		return true
	})
	return metrics > 0 && metrics == times
}
