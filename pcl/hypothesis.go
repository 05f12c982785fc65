package pcl

import "culprit/grid"

// A Hypothesis is one entry of the why axis, as written in PCL.
type Hypothesis struct {
	Name, Parent string // Parent is "" or "top" for the roots
	// Label is what is said of it in a sentence. The consultant fills in {percent} {value} {threshold} {function} {source}
	// {object} {process} {since} {focus}; see lib/why.pcl.
	Label    string
	Explain  string
	Greater  bool             // true: holds if Value > Threshold; false: if Value < Threshold
	Refine   []grid.Hierarchy // grid.Defined stands for the hierarchies of Defined
	Defined  []string         // hierarchies that texts define
	Suppress []string         // paths that are never tested, such as "/Code/libc.so.6"
	Expand   string           // what follows when it is true: "why", "where" or "whyAndWhere" (the default)
	Metrics  []string         // metrics that the test reads at the node's focus, in order of first use
	Global   []string         // subset of Metrics that are read at the whole program instead (written METRIC@"/")

	value, threshold evaluable // set by the loader
	unit             string    // of both; "" if they have none
}

// Along lists the names of the hierarchies along which the hypothesis is refined: fixed ones, then those that texts define.
func (h *Hypothesis) Along() []string {
	var out []string
	for _, r := range h.Refine {
		if r != grid.Defined {
			out = append(out, r.String())
		}
	}
	return append(out, h.Defined...)
}

// An evaluable is a checked expression over metrics, tunables and numbers.
type evaluable func(get func(metric string) float64) float64

// Value is the left side of the test; get returns the average of a metric over the samples that are judged. x/0 is 0.
func (h *Hypothesis) Value(get func(metric string) float64) float64 { return h.value(get) }

// Threshold is the right side of the test.
func (h *Hypothesis) Threshold(get func(metric string) float64) float64 { return h.threshold(get) }

// Holds is the answer of the test. Missing values (NaN) make it false.
func (h *Hypothesis) Holds(get func(metric string) float64) bool {
	if h.Greater {
		return h.value(get) > h.threshold(get)
	}
	return h.value(get) < h.threshold(get)
}
