package bins

import (
	"math"

	"culprit/consultant/decide"
	"culprit/grid"
)

// A Series is a copy of one histogram.
type Series struct {
	start, width float64   // s
	rates        []float64 // NaN: missing
	until        float64   // s; the time up to which bins are filled
}

// Copy returns what a histogram holds now.
func Copy(of *grid.Histogram) *Series {
	h := of.Copy()
	return &Series{start: h.Start(), width: h.Width(), rates: h.Rates(), until: h.FilledUntil()}
}

// Finest is the histogram that shows a phase best that began at a session time and goes on: one that began no later and has the narrowest bins.
func Finest(snap grid.Snapshot, start float64) *grid.Histogram {
	best := snap.Histogram
	for _, ph := range snap.Phases {
		if ph.Phase.End == 0 && ph.Phase.Start <= start && ph.Histogram.Width() < best.Width() {
			best = ph.Histogram
		}
	}
	return best
}

// over is the average of the bins that lie in (t, t+w]; NaN if one of them is missing.
func (s *Series) over(t, w float64) float64 {
	first := int(math.Round((t - s.start) / s.width))
	count := max(1, int(math.Round(w/s.width)))
	if first < 0 || first+count > len(s.rates) {
		return math.NaN()
	}
	sum := 0.0
	for _, r := range s.rates[first : first+count] {
		sum += r
	}
	return sum / float64(count)
}

// A Reader reads the bins of several series that begin at the same time.
type Reader struct {
	series []*Series
	Start  float64 // s, of the first bin
	Width  float64 // s, of the widest bins
	Until  float64 // s, up to which all are filled
}

// NewReader reads all series; ok is false if there are none, or one of them is nil or has no width.
func NewReader(all []*Series) (r Reader, ok bool) {
	r.Until = math.Inf(1)
	for _, s := range all {
		if s == nil || !(s.width > 0) {
			return Reader{}, false
		}
		r.Until = min(r.Until, s.until)
		if s.width > r.Width {
			r.Start, r.Width = s.start, s.width
		}
	}
	r.series = all
	return r, len(all) > 0
}

// At reads the bin that begins at t; ok is false if a series has no value there.
func (r Reader) At(t float64) (bin decide.Bin, ok bool) {
	bin = decide.Bin{Start: t, End: t + r.Width, Values: make([]float64, len(r.series))}
	for i, s := range r.series {
		v := s.over(t, r.Width)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return bin, false
		}
		bin.Values[i] = v
	}
	return bin, true
}

// Edge is the first edge of a bin at or after t.
func (r Reader) Edge(t float64) float64 {
	return r.Start + math.Ceil((t-r.Start)/r.Width-1e-6)*r.Width
}

// Back follows what holds at a time back to its beginning, over short gaps, but not beyond another time. since is +Inf if it did not hold just before. open
// tells that it held as far back as there are values.
func (r Reader) Back(from, to float64, holds func(values []float64) bool) (since float64, open bool) {
	since, misses := math.Inf(1), 0
	for t := r.Edge(from) - r.Width; t >= to-1e-9 && t >= r.Start-1e-9; t -= r.Width {
		bin, ok := r.At(t)
		switch {
		case !ok:
			return since, true
		case holds(bin.Values):
			since, misses = t, 0
			continue
		}
		if misses++; misses > decide.ForgivenGap {
			return since, false
		}
	}
	return since, true
}
