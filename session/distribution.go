package session

import (
	"culprit/grid"
	"culprit/session/report"
)

// distributionReport is a distribution for a report; the unit is that of its values.
func distributionReport(d *grid.Distribution, unit string) *report.Distribution {
	quantile := func(q float64) report.Missing { return report.Missing(d.Quantile(q)) }
	r := &report.Distribution{
		Unit: clean(unit), Count: d.Count(), Below: d.Below(), Step: report.Number(d.Step), Mean: report.Missing(d.Mean()),
		P50: quantile(0.5), P90: quantile(0.9), P99: quantile(0.99), P999: quantile(0.999), Max: report.Missing(d.Max()),
	}
	for _, b := range d.Buckets() {
		r.Buckets = append(r.Buckets, report.Bucket{Low: report.Missing(b.Low), High: report.Number(b.High), Count: b.Count})
	}
	return r
}
