package session

import "culprit/session/report"

// A Watched is a pair of --watch as it stands; Error says why it has no values, or not yet. Its Bins are left out.
type Watched struct {
	report.Pair
	Recent []float64 // the latest values, one for each bin, oldest first; NaN where nothing is known
}

// Bounds of what is shown while a session runs.
const (
	maxWatched = 50
	maxRecent  = 60
)

// look reads the pairs that were asked for first.
func (r *pairReader) look() (list []Watched) {
	shown := r.watch.Shown()
	for _, key := range shown[:min(len(shown), maxWatched)] {
		one := Watched{Pair: r.soFar(key)}
		for _, v := range one.Bins[max(0, len(one.Bins)-maxRecent):] {
			one.Recent = append(one.Recent, float64(v))
		}
		one.Bins = nil
		if one.Gauge != nil {
			one.Gauge.Lows, one.Gauge.Highs = nil, nil
		}
		list = append(list, one)
	}
	return list
}

// maxPresent bounds the pairs of a report of a session that goes on: with all their bins.
const maxPresent = 1000

// present reads the pairs that were asked for first; more is how many are left out.
func (r *pairReader) present() (list []report.Pair, more int) {
	shown := r.watch.Shown()
	for _, key := range shown[:min(len(shown), maxPresent)] {
		list = append(list, r.soFar(key))
	}
	return list, max(0, len(shown)-maxPresent)
}
