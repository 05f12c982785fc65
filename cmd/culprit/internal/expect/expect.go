// Package expect judges what `expect` definitions say of a program against what was measured, and writes the result as
// lines for people and as JUnit XML.
//
// It must not import anything that measures or draws. Everything in it is a pure function of its arguments.
package expect

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"culprit/consultant/hypotheses"
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

	// Value and Threshold are what was compared, in Unit; NaN if it could not be measured. Relation is how: "<", "<=", ">", ">=",
	// with "not " before it, or "within 10 % of".
	Value, Threshold float64
	Unit, Relation   string
}

// A Reader gives what a view shows of a pair over the time of the measurement, or why there is nothing.
type Reader func(grid.PairKey, pcl.View) (float64, error)

// Keys are the pairs that the expectations of a library need, each once, in order.
func Keys(lib *pcl.Library) []grid.PairKey {
	var keys []grid.PairKey
	for _, set := range lib.Expects() {
		for i := range set.Of {
			e := &set.Of[i]
			for _, r := range e.Readings {
				if k := e.Key(r); !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
		}
	}
	return keys
}

// Judge judges all expectations of a library, in order.
func Judge(lib *pcl.Library, read Reader) []Verdict {
	var out []Verdict
	for _, set := range lib.Expects() {
		for i := range set.Of {
			v := judge(lib, &set.Of[i], read)
			v.Set = clean(set.Name)
			out = append(out, v)
		}
	}
	return out
}

func judge(lib *pcl.Library, e *pcl.Expectation, read Reader) Verdict {
	v := Verdict{Text: clean(text(e)), Unit: clean(e.Unit), Relation: relation(e)}
	values, err := take(e, read)
	if err != nil {
		return v.unknown(err)
	}
	get := func(name string) float64 { return values[name] }
	var holds bool
	if h := hypothesis(lib, e); h != nil {
		var is bool
		v.Value, v.Threshold, is = hypotheses.Test(h, get)
		holds = is != e.Not
	} else {
		v.Value, v.Threshold, holds = e.Value(get), e.Threshold(get), e.Holds(get)
	}
	return v.judged(holds, words[v.Relation]+" "+number(v.Threshold, v.Unit))
}

// unknown is the verdict of what could not be measured.
func (v Verdict) unknown(err error) Verdict {
	v.Outcome, v.Detail = Unknown, "it could not be measured: "+clean(err.Error())
	v.Value, v.Threshold = math.NaN(), math.NaN()
	return v
}

// judged is the verdict of what was compared with what is expected of it.
func (v Verdict) judged(holds bool, expected string) Verdict {
	v.Outcome = Held
	if !holds {
		v.Outcome = Failed
	}
	v.Detail = fmt.Sprintf("%s, expected %s", number(v.Value, v.Unit), expected)
	return v
}

// hypothesis is that of an expectation, nil for a comparison.
func hypothesis(lib *pcl.Library, e *pcl.Expectation) *pcl.Hypothesis {
	list := lib.Hypotheses()
	if i := slices.IndexFunc(list, func(h *pcl.Hypothesis) bool { return e.Hypothesis != "" && h.Name == e.Hypothesis }); i >= 0 {
		return list[i]
	}
	return nil
}

// take reads all values by the names under which they are asked for; the first that is missing is the error.
func take(e *pcl.Expectation, read Reader) (map[string]float64, error) {
	values := map[string]float64{}
	for _, r := range e.Readings {
		k := e.Key(r)
		v, err := read(k, r.View)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			err = fmt.Errorf("%v has no value", k)
		}
		if err != nil {
			return nil, err
		}
		values[r.Name] = v
	}
	return values, nil
}

// words are the relations as sentences have them.
var words = map[string]string{"<": "below", "<=": "at most", ">": "above", ">=": "at least",
	"not <": "not below", "not <=": "more than", "not >": "not above", "not >=": "less than"}

func relation(e *pcl.Expectation) string {
	if e.Not {
		return "not " + e.Relation()
	}
	return e.Relation()
}

// text is the expectation as written.
func text(e *pcl.Expectation) string {
	if e.Not {
		return "not " + e.Text
	}
	return e.Text
}

// number writes a value with its unit.
func number(v float64, unit string) string {
	return strings.TrimSuffix(fmt.Sprintf("%.4g %s", v, unit), " ")
}

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
