package testrun

import (
	"math"

	"culprit/grid"
	"culprit/pcl/pcltest"
)

// look is what a view shows of a pair, in its unit; ok is false if there is nothing.
func (m *measured) look(key grid.PairKey, view pcltest.View) (v float64, unit string, ok bool) {
	if !view.OfValues() {
		return m.value(key, view)
	}
	if view == pcltest.Mean && m.isGauge(key) {
		return m.value(key, pcltest.Average)
	}
	metric, known := m.lib.Metric(key.Metric)
	d, ok := m.s.Distribution(key)
	if !ok || !known {
		return 0, "", false
	}
	if view == pcltest.Count {
		return float64(d.Count()), "values", true
	}
	v = d.Mean()
	if q, is := view.Quantile(); is {
		v = d.Quantile(q)
	}
	return v, metric.SumUnits(), !math.IsNaN(v) && !math.IsInf(v, 0) // values below 0 are not told apart
}

// noValues says why a view of single values shows nothing, if it is known; else it is empty.
func (m *measured) noValues(key grid.PairKey, view pcltest.View) string {
	d, ok := m.s.Distribution(key)
	switch _, quantile := view.Quantile(); {
	case ok && quantile && d.Below() > 0:
		return ": it is below 0, where single values are not kept"
	case ok || !view.OfValues() || view == pcltest.Mean && m.isGauge(key):
		return ""
	}
	return `: "` + string(view) + `" is of single values, which only a metric with a base of histogram(..) keeps`
}

// isGauge reports whether the metric is a value that holds, whose mean is its average over time.
func (m *measured) isGauge(key grid.PairKey) bool {
	metric, known := m.lib.Metric(key.Metric)
	return known && metric.Style == grid.SampledFunction
}
