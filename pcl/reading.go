package pcl

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

// A Reading is one value that an expectation needs.
type Reading struct {
	Name   string // by which Holds, Value and Threshold ask for it: "cpu", or "p99(io_latency)"
	Metric string
	Whole  bool // it is read at the whole program, not at the expectation's focus
	View   View
}
