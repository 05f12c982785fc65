package selfcost

import "time"

const (
	// ShortestInterval is how often values are read where that takes little, LongestInterval how often at least.
	ShortestInterval = 200 * time.Millisecond
	LongestInterval  = 1600 * time.Millisecond
)

// The share of a CPU that passes may take. A pass reads everything, so that nothing is lost where passes are rare: values are of longer
// intervals then.
const (
	PassShare  = 0.01   // while some CPU is idle
	BusyShare  = 0.004  // while none is
	StillShare = 0.0005 // while none is, and nothing is measured that anybody waits for
)

// FirstAnswers is how long after its begin a session spares no CPUs, in s: somebody waits for the first answers, and each takes three readings.
const FirstAnswers = 5.0

// An Interval is the time between two passes over all values. It grows with the CPU time that passes take, so that two hundred processes are not
// read as often as one. The cheaper one of the last two passes counts: in single ones something began or ended.
type Interval struct {
	last time.Time
	took [2]time.Duration // by the last pass and the one before
}

// Note tells of a pass that began at a time and took so much CPU time.
func (v *Interval) Note(at time.Time, took time.Duration) {
	v.last, v.took = at, [2]time.Duration{took, v.took[0]}
}

// Length is how long to wait from one pass to the next, if passes may take a share of a CPU.
func (v *Interval) Length(share float64) time.Duration {
	wanted := time.Duration(float64(min(v.took[0], v.took[1])) / share)
	return min(max(wanted, ShortestInterval), LongestInterval)
}

// Due tells whether it is time for a pass. Ticks come every ShortestInterval and are never exact.
func (v *Interval) Due(at time.Time, share float64) bool {
	return at.Sub(v.last) >= v.Length(share)-ShortestInterval/2
}
