package hypotheses

import "culprit/pcl"

// Test judges a hypothesis on one average for each of its metrics, as the search judges the bins of a node. value and
// threshold are the two sides of its test. A test for something too small does not hold where nothing happened at all.
func Test(p *pcl.Hypothesis, get func(metric string) float64) (value, threshold float64, holds bool) {
	h := New(p)
	sums := make([]float64, len(h.Metrics))
	for i, m := range h.Metrics {
		sums[i] = get(m)
	}
	return h.Holds(sums)
}
