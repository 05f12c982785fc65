package report

import "fmt"

// A Gauge is what a pair has whose metric is a value that holds, not one that grows: Average is its mean by time then, Min and Max are the
// extremes that it had at any moment, and Bins are means.
type Gauge struct {
	Last Missing `json:"last"`
	// SinceAttach is set where only changes of the value are seen: 0 is what it was when it was enabled.
	SinceAttach bool `json:"since_attach"`
	Lows        Bins `json:"lows"`  // the smallest value of each bin
	Highs       Bins `json:"highs"` // the largest
}

// gaugeText is a gauge in words, without its unit and tier.
func (p *Pair) gaugeText() string {
	return fmt.Sprintf("mean %s%s, last %s, min %s, max %s", amount(float64(p.Average)), errorNote(*p), amount(float64(p.Gauge.Last)),
		amount(float64(p.Min)), amount(float64(p.Max)))
}

// Origin says where the values of a pair come from, and what 0 means in a gauge of which only changes are seen.
func (p *Pair) Origin() string {
	if p.Gauge != nil && p.Gauge.SinceAttach {
		return p.Tier + ", since the attach"
	}
	return p.Tier
}
