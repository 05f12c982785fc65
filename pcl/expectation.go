package pcl

import "culprit/grid"

// An Expect is a named set of expectations, for use in tests of performance.
type Expect struct {
	Name string
	Of   []Expectation
}

// An Expectation is one line of an Expect: a hypothesis, or a comparison of metrics, at a focus.
type Expectation struct {
	Text       string // as written, for messages
	Not        bool
	Focus      grid.Focus
	Hypothesis string   // "" for a comparison
	Metrics    []string // that the comparison reads at Focus, those in Global at the whole program
	Global     []string
	Readings   []Reading // the values that it reads, those of its hypothesis included; in order of first use
	Comparison           // without sides for a hypothesis, whose Greater and Unit it has then
}

// Holds evaluates a comparison, Not included; get returns the average of a metric. It is false for a hypothesis.
func (e *Expectation) Holds(get func(metric string) float64) bool {
	return e.Left != nil && e.Comparison.Holds(get) != e.Not
}

// Key is the pair that a reading of the expectation is of.
func (e *Expectation) Key(one Reading) grid.PairKey {
	if one.Whole {
		return grid.PairKey{Metric: one.Metric, Focus: grid.Whole()}
	}
	return grid.PairKey{Metric: one.Metric, Focus: e.Focus}
}
