package expect

import (
	"errors"
	"fmt"
	"math"

	"culprit/grid"
	"culprit/pcl"
	"culprit/session/report"
)

// A Baseline is what an earlier report says of the pairs that were watched then: they are expected to be as they were.
type Baseline struct {
	Name      string  // of the report, for messages
	Tolerance float64 // fraction by which a value may be above or below that of the report, > 0
	pairs     []earlier
}

// An earlier is a pair of the report.
type earlier struct {
	key grid.PairKey
	was report.Pair
}

// quantileTolerance is the least tolerance for quantiles: each of the two is up to 12.5 % off.
const quantileTolerance = 0.25

// NewBaseline takes the pairs of a report that --watch named. It is an error if there are none, or if the library has no metric of a
// pair, or none that can be read at its focus.
func NewBaseline(name string, r *report.Report, tolerance float64, lib *pcl.Library) (*Baseline, error) {
	b := &Baseline{Name: name, Tolerance: tolerance}
	for _, p := range r.Pairs {
		f, err := grid.FocusFromMap(p.Focus, lib.Defined()...)
		if err == nil {
			err = lib.Check(p.Metric, f)
		}
		if err != nil {
			return nil, fmt.Errorf("the report %s: %w", name, err)
		}
		b.pairs = append(b.pairs, earlier{grid.PairKey{Metric: p.Metric, Focus: f}, p})
	}
	if len(b.pairs) == 0 {
		return nil, fmt.Errorf("the report %s has no pairs that could be measured again: write one with --watch METRIC@FOCUS --json %s", name, name)
	}
	return b, nil
}

// Keys are the pairs of the baseline, in the order of the report.
func (b *Baseline) Keys() []grid.PairKey {
	var keys []grid.PairKey
	for _, e := range b.pairs {
		keys = append(keys, e.key)
	}
	return keys
}

// Judge compares each pair with what it was: its average, and of a distribution p50 and p99.
func (b *Baseline) Judge(lib *pcl.Library, read Reader) []Verdict {
	var out []Verdict
	for i := range b.pairs {
		e := &b.pairs[i]
		m, _ := lib.Metric(e.key.Metric)
		out = append(out, b.judge(e, pcl.Average, e.was.Average, m.RateUnits(), e.was.Unit, read))
		if d := e.was.Distribution; d != nil {
			out = append(out, b.judge(e, "p50", d.P50, m.Values, d.Unit, read), b.judge(e, "p99", d.P99, m.Values, d.Unit, read))
		}
	}
	return out
}

func (b *Baseline) judge(e *earlier, view pcl.View, was report.Missing, unit, unitThen string, read Reader) Verdict {
	tolerance := b.Tolerance
	v := Verdict{Set: "as in " + clean(b.Name), Text: clean(e.key.String()), Unit: clean(unit), Threshold: float64(was)}
	if view != pcl.Average {
		v.Text = clean(string(view) + "(" + e.key.Metric + ") at " + e.key.Focus.String())
		tolerance = max(tolerance, quantileTolerance)
	}
	v.Relation = fmt.Sprintf("within %.4g %% of", 100*tolerance)
	switch {
	case e.was.Error != "":
		return v.unknown(errors.New("the report has no value: " + e.was.Error))
	case math.IsNaN(v.Threshold):
		return v.unknown(errors.New("the report has no value"))
	case unitThen != unit:
		return v.unknown(fmt.Errorf("its unit is %q, and was %q", unit, unitThen))
	}
	now, err := read(e.key, view)
	if err != nil {
		return v.unknown(err)
	}
	v.Value = now
	return v.judged(math.Abs(now-v.Threshold) <= tolerance*math.Abs(v.Threshold), v.Relation+" "+number(v.Threshold, v.Unit))
}
