// Package expect judges what `expect` definitions say of a program against what was measured, and writes the result as
// lines for people and as JUnit XML.
//
// It must not import anything that measures or draws. Everything in it is a pure function of its arguments.
package expect

import (
	"fmt"
	"math"
	"slices"

	"culprit/consultant"
	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/pcl"
)

// An Outcome is what became of one expectation.
type Outcome string

// The outcomes.
const (
	Held    Outcome = "ok"
	Failed  Outcome = "FAILED"
	Unknown Outcome = "UNKNOWN" // it could not be measured
)

// A Verdict is the outcome of one expectation.
type Verdict struct {
	Set     string // name of the expect definition
	Text    string // the expectation as written
	Outcome Outcome
	Detail  string // value and threshold, or why it could not be measured; one line, fit for a terminal
}

// Keys are the pairs that the expectations of a library need, each once, in order.
func Keys(lib *pcl.Library) []grid.PairKey {
	var keys []grid.PairKey
	for _, set := range lib.Expects() {
		for i := range set.Of {
			for _, k := range newReading(lib, &set.Of[i]).keys {
				if !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
		}
	}
	return keys
}

// Judge judges all expectations of a library, in order. average is the average of a pair over the time of the measurement, or why
// there is none.
func Judge(lib *pcl.Library, average func(grid.PairKey) (float64, error)) []Verdict {
	var out []Verdict
	for _, set := range lib.Expects() {
		for i := range set.Of {
			v := judge(lib, &set.Of[i], average)
			v.Set = clean(set.Name)
			out = append(out, v)
		}
	}
	return out
}

func judge(lib *pcl.Library, e *pcl.Expectation, average func(grid.PairKey) (float64, error)) Verdict {
	r := newReading(lib, e)
	v := Verdict{Text: clean(text(e)), Outcome: Held}
	if err := r.take(average); err != nil {
		v.Outcome, v.Detail = Unknown, "it could not be measured: "+clean(err.Error())
		return v
	}
	holds, detail := r.compare(e)
	if !holds {
		v.Outcome = Failed
	}
	v.Detail = detail
	return v
}

// text is the expectation as written.
func text(e *pcl.Expectation) string {
	if e.Not {
		return "not " + e.Text
	}
	return e.Text
}

// A reading is what one expectation reads.
type reading struct {
	hypothesis *pcl.Hypothesis // nil: a comparison
	metrics    []string
	keys       []grid.PairKey // of the metrics
	values     map[string]float64
}

func newReading(lib *pcl.Library, e *pcl.Expectation) *reading {
	r := &reading{metrics: e.Metrics, values: map[string]float64{}}
	global := e.Global
	if e.Hypothesis != "" {
		list := lib.Hypotheses()
		if i := slices.IndexFunc(list, func(h *pcl.Hypothesis) bool { return h.Name == e.Hypothesis }); i >= 0 {
			r.hypothesis, r.metrics, global = list[i], list[i].Metrics, list[i].Global
		}
	}
	for _, m := range r.metrics {
		k := grid.PairKey{Metric: m, Focus: e.Focus}
		if slices.Contains(global, m) {
			k.Focus = grid.Whole()
		}
		r.keys = append(r.keys, k)
	}
	return r
}

// take reads all values; the first that is missing is the error.
func (r *reading) take(average func(grid.PairKey) (float64, error)) error {
	for i, k := range r.keys {
		v, err := average(k)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			err = fmt.Errorf("%v has no value", k)
		}
		if err != nil {
			return err
		}
		r.values[r.metrics[i]] = v
	}
	return nil
}

func (r *reading) get(metric string) float64 { return r.values[metric] }

// compare judges and says what was compared.
func (r *reading) compare(e *pcl.Expectation) (holds bool, detail string) {
	if r.hypothesis != nil {
		value, threshold, is := consultant.Test(r.hypothesis, r.get)
		return is != e.Not, sides(value, threshold, r.hypothesis.Greater, e.Not)
	}
	return e.Holds(r.get), sides(e.Value(r.get), e.Threshold(r.get), e.Greater, e.Not)
}

// sides writes what was found and where the limit is.
func sides(value, threshold float64, greater, not bool) string {
	word := "below"
	if greater {
		word = "above"
	}
	if not {
		word = "not " + word
	}
	return fmt.Sprintf("%s, expected %s %s", number(value), word, number(threshold))
}

func number(v float64) string { return fmt.Sprintf("%.4g", v) }

// clean makes text fit for a line: names in it may come from a target.
func clean(s string) string { return safetext.CleanMax(s, 400) }

// Count is how many verdicts have the outcome.
func Count(list []Verdict, o Outcome) int {
	n := 0
	for _, v := range list {
		if v.Outcome == o {
			n++
		}
	}
	return n
}
