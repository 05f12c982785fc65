package session

import (
	"culprit/grid"
	"culprit/session/report"
)

// gaugeReport is what the report has of a value that holds, beside what it has of every pair.
func gaugeReport(snap *grid.Snapshot) *report.Gauge {
	low, high := snap.Histogram.Extremes()
	return &report.Gauge{Last: report.Missing(snap.Current), SinceAttach: snap.Metric.SinceAttach, Lows: binsReport(low), Highs: binsReport(high)}
}

func binsReport(values []float64) (bins report.Bins) {
	for _, v := range values {
		bins = append(bins, report.Missing(v))
	}
	return bins
}
