package consultant

import (
	"math"

	"culprit/consultant/decide"
	"culprit/grid"
)

// Reading the grid: the bins of all metrics of a node, aligned.

// A series is a copy of one histogram for the length of a tick.
type series struct {
	start, width float64
	rates        []float64 // NaN: missing
	until        float64   // s; the time up to which bins are filled
}

// A seriesKey names a series: each pair is read once per tick and phase.
type seriesKey struct {
	pair  grid.PairKey
	phase *phase
}

// read returns the series of a pair; nil if there is no histogram.
func (s *Search) read(pair grid.PairKey, p *phase, cache map[seriesKey]*series) *series {
	k := seriesKey{pair, p}
	if v, ok := cache[k]; ok {
		return v
	}
	var v *series
	if snap, ok := s.cells.Pair(pair); ok && snap.Histogram != nil {
		h := finest(snap, p).Copy() // the live one may fold between two questions
		v = &series{start: h.Start(), width: h.Width(), rates: h.Rates(), until: h.FilledUntil()}
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

// over is the average of the bins that lie in (t, t+w]; NaN if one of them is missing.
func (v *series) over(t, w float64) float64 {
	first := int(math.Round((t - v.start) / v.width))
	count := max(1, int(math.Round(w/v.width)))
	if first < 0 || first+count > len(v.rates) {
		return math.NaN()
	}
	sum := 0.0
	for _, r := range v.rates[first : first+count] {
		sum += r
	}
	return sum / float64(count)
}

// A reader reads aligned bins of one node: those of the widest of its histograms.
type reader struct {
	cols         []*series
	start, width float64
	until        float64
}

// reader opens the histograms of a node; ok is false while one of them is missing.
func (s *Search) reader(n *node, cache map[seriesKey]*series) (r reader, ok bool) {
	r.until = math.Inf(1)
	for _, k := range n.pairs {
		v := s.read(k, n.phase, cache)
		if v == nil || !(v.width > 0) {
			return r, false
		}
		r.cols = append(r.cols, v)
		r.until = min(r.until, v.until)
		if v.width > r.width {
			r.start, r.width = v.start, v.width
		}
	}
	return r, len(r.cols) > 0
}

// row reads the bin that begins at t; ok is false if a metric is missing there.
func (r reader) row(t float64) (row decide.Bin, ok bool) {
	row = decide.Bin{Start: t, End: t + r.width, Values: make([]float64, len(r.cols))}
	for i, c := range r.cols {
		v := c.over(t, r.width)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return row, false
		}
		row.Values[i] = v
	}
	return row, true
}

// edge is the first edge of a bin at or after t.
func (r reader) edge(t float64) float64 {
	return r.start + math.Ceil((t-r.start)/r.width-1e-6)*r.width
}
