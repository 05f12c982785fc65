package consultant

import (
	"culprit/consultant/bins"
	"culprit/grid"
)

// A seriesKey names a series: each pair is read once per tick and phase.
type seriesKey struct {
	pair  grid.PairKey
	phase *phase
}

// read returns the bins of a pair; nil if there is no histogram.
func (s *Search) read(pair grid.PairKey, p *phase, cache map[seriesKey]*bins.Series) *bins.Series {
	k := seriesKey{pair, p}
	if v, ok := cache[k]; ok {
		return v
	}
	var v *bins.Series
	if snap, ok := s.cells.Pair(pair); ok && snap.Histogram != nil {
		v = bins.Copy(finest(snap, p))
	}
	cache[k] = v
	return v
}

// finest is the histogram that shows a node's phase best: for a phase of its own one that began no later than the phase
// and has narrower bins than that of the whole session.
func finest(snap grid.Snapshot, p *phase) *grid.Histogram {
	best := snap.Histogram
	for _, ph := range snap.Phases {
		if p.index > 0 && ph.Phase.End == 0 && ph.Phase.Start <= p.Start && ph.Histogram.Width() < best.Width() {
			best = ph.Histogram
		}
	}
	return best
}

// reader opens the histograms of a node; ok is false while one of them is missing.
func (s *Search) reader(n *node, cache map[seriesKey]*bins.Series) (r bins.Reader, ok bool) {
	all := make([]*bins.Series, len(n.pairs))
	for i, k := range n.pairs {
		if all[i] = s.read(k, n.phase, cache); all[i] == nil {
			return r, false
		}
	}
	return bins.NewReader(all)
}
