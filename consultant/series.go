package consultant

import (
	"culprit/consultant/bins"
	"culprit/consultant/decide"
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
		h := snap.Histogram
		if p.index > 0 {
			h = bins.Finest(snap, p.Start)
		}
		v = bins.Copy(h)
	}
	cache[k] = v
	return v
}

// rows reads what came of the pairs of a node since it was read last, side by side. next is where the rows that come later begin.
func (s *Search) rows(n *node) (rows []decide.Bin, next float64) {
	all := make([][]grid.Interval, len(n.pairs))
	for i, k := range n.pairs {
		all[i] = s.cells.Intervals(k, n.next)
	}
	return bins.Rows(all, n.next)
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
