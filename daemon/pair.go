package daemon

import (
	"culprit/daemon/children"
	"culprit/daemon/measuring"
	"culprit/daemon/probe"
	"culprit/grid"
)

// A pair is one enabled metric-focus pair; it has a part in every target that its focus covers.
type pair struct {
	key       grid.PairKey
	sink      grid.Sink
	tier      grid.Tier
	since     float64
	last      float64 // session time of the last value given to the sink
	err       float64 // standard error of the average up to then, if it is estimated
	estimated bool
	parts     []*measuring.Part
	cpus      float64 // that its probes took when that was looked at last
	late      children.Late
	axis      probe.GaugeAxis // of a gauge
	keyed     *keyedPair      // of a pair that chooses a key, which has parts only in targets that are looked at; else nil
}

// coarser is the tier that limits what can be said of several parts together.
func coarser(a, b grid.Tier) grid.Tier {
	for _, t := range []grid.Tier{grid.TierSample, grid.TierProbe} {
		if a == t || b == t {
			return t
		}
	}
	return b
}
