package testrun

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"culprit/grid"
	"culprit/pcl/pcltest"
)

// expect ends measuring and compares what a pair has measured.
func (r *run) expect(s pcltest.Expect) error {
	if err := r.measured.stop(); err != nil {
		return err
	}
	key, err := r.key(s.Pair)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s: %s", s.Pos, title(key, s.View))
	if s.Error != "" {
		r.refusal(what, key, s.Error)
		return nil
	}
	if err := r.measured.s.Asked(key).Err; err != nil {
		r.fail("%s: it was not measured: %v", what, err)
		return nil
	}
	got, unit, ok := r.measured.look(key, s.View)
	if !ok {
		r.fail("%s: nothing was measured%s", what, r.measured.noValues(key, s.View))
		return nil
	}
	r.judge(what, got, unit, s.Relation, r.measured.where(key))
	r.note(key)
	if s.As != "" {
		r.vars[s.As] = strconv.FormatFloat(got, 'g', -1, 64)
	}
	return nil
}

// note says what the value of a pair does not tell of.
func (r *run) note(key grid.PairKey) {
	if text := r.measured.s.Asked(key).Note; text != "" {
		r.printf("      warning: %s", text)
	}
}

// where says in how many places the probes of a pair were; "" if it has none because it needs none.
func (m *measured) where(key grid.PairKey) string {
	switch a := m.s.Asked(key); {
	case !a.Probed:
		return ""
	case a.Places == 0:
		return "; no probe was inserted: the program has none of the functions that it counts"
	case a.Places == 1:
		return "; its probes were in 1 place"
	default:
		return fmt.Sprintf("; its probes were in %d places", a.Places)
	}
}

// title is a pair as the statement has it.
func title(k grid.PairKey, view pcltest.View) string {
	text := k.Metric
	if f := k.Focus.String(); f != "/" {
		text += " at " + f
	}
	if view != pcltest.Default {
		text += " " + string(view)
	}
	return text
}

// refusal checks that a pair was refused, and why.
func (r *run) refusal(what string, key grid.PairKey, want string) {
	err := r.measured.s.Asked(key).Err
	switch {
	case err == nil:
		r.fail("%s: it was measured, expected the error %q", what, want)
	case !strings.Contains(err.Error(), want):
		r.fail("%s: the error is %q, expected one with %q in it", what, err.Error(), want)
	default:
		r.pass("%s: refused: %v", what, err)
	}
}

// value is what a pair has measured, in its unit; ok is false if there are no values.
func (m *measured) value(key grid.PairKey, view pcltest.View) (v float64, unit string, ok bool) {
	snap, ok := m.s.Pair(key)
	metric, known := m.lib.Metric(key.Metric)
	if !ok || !known {
		return 0, "", false
	}
	if view == pcltest.Default {
		view = pcltest.Sum
		if metric.Style == grid.SampledFunction {
			view = pcltest.Average
		}
	}
	unit = metric.RateUnits()
	switch view {
	case pcltest.Sum:
		v, unit = snap.Sum, metric.SumUnits()
	case pcltest.Average:
		v = snap.Average
	case pcltest.Min:
		v = snap.Min
	case pcltest.Max:
		v = snap.Max
	case pcltest.Last:
		v = snap.Current
	}
	return v, unit, !math.IsNaN(v)
}

// judge compares and prints; where is added to what does not hold, and to what holds without any probe.
func (r *run) judge(what string, got float64, unit string, relation pcltest.Relation, where string) {
	ok, expected, err := relation.Verdict(got, r.number)
	if unit != "" {
		unit = " " + unit
	}
	switch {
	case err != nil:
		r.fail("%s: %s%s, expected %s: %v", what, pcltest.Number(got), unit, relation.Text, err)
	case ok:
		if !strings.HasPrefix(where, "; no probe") {
			where = ""
		}
		r.pass("%s: %s%s, expected %s%s", what, pcltest.Number(got), unit, expected, where)
	default:
		r.fail("%s: %s%s, expected %s%s", what, pcltest.Number(got), unit, expected, where)
	}
}

// check ends measuring and compares two expressions.
func (r *run) check(s pcltest.Check) error {
	if err := r.measured.stop(); err != nil {
		return err
	}
	got, err := s.Expr.Eval(r.number)
	what := fmt.Sprintf("%s: %s", s.Pos, s.Text)
	if err != nil {
		r.fail("%s: %v", what, err)
		return nil
	}
	r.judge(what, got, "", s.Relation, "")
	return nil
}
