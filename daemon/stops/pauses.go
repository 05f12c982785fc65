package stops

import (
	"math"
	"sync"
	"time"

	"culprit/daemon/process"
	"culprit/grid"
)

// Pauses add up the stops of all processes. They are safe for use by several goroutines.
type Pauses struct {
	mu    sync.Mutex
	first time.Time // when the first ended
	count int
	max   time.Duration
	sum   time.Duration
	later time.Duration   // of sum, the pauses that ended more than earlyTime after the first
	last  []time.Duration // at most keepPauses

	threads int                      // that stood still, over all stops
	cuts    int                      // blocking calls that moved less than they were to
	sizes   [octaves * perOctave]int // how many pauses were of which length
}

// The lengths of pauses are counted in classes, so many to each octave of microseconds: 2^30 are 18 minutes.
const (
	octaves   = 30
	perOctave = 8
)

// keepPauses is how many pauses are kept one by one.
const keepPauses = 256

// earlyTime is the beginning of a search, in which most of its probes go in. It counts from the first pause: until then nobody was disturbed.
const earlyTime = 5 * time.Second

// add takes note of a stop that ended at a time. It was no pause if no thread stood still.
func (l *Pauses) add(p process.Pause, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cuts += p.Cuts
	if p.Still == 0 {
		return
	}
	if l.count++; l.count == 1 {
		l.first = at
	}
	l.max = max(l.max, p.Total)
	l.sum += p.Total
	if at.Sub(l.first) > earlyTime {
		l.later += p.Total
	}
	l.threads += p.Still
	l.sizes[classOf(p.Total)]++
	if l.last = append(l.last, p.Total); len(l.last) > keepPauses {
		l.last = l.last[1:]
	}
}

// Last is how long the processes stood still in each of the last stops, oldest first; 256 at most.
func (l *Pauses) Last() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]time.Duration(nil), l.last...)
}

// Total is how long processes stood still, all stops together.
func (l *Pauses) Total() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum
}

// Figures are what is told of the pauses.
func (l *Pauses) Figures() grid.Pauses {
	l.mu.Lock()
	defer l.mu.Unlock()
	return grid.Pauses{Count: l.count, MaxUS: l.max.Microseconds(), TotalUS: l.sum.Microseconds(), LaterUS: l.later.Microseconds(),
		P50US: l.quantile(0.5).Microseconds(), P99US: l.quantile(0.99).Microseconds(), ThreadStops: l.threads, Cuts: l.cuts}
}

// classOf is the class of a pause.
func classOf(d time.Duration) int {
	us := max(float64(d)/float64(time.Microsecond), 1)
	return min(int(math.Log2(us)*perOctave), octaves*perOctave-1)
}

// quantile is a length that a share of the pauses do not pass, at most 9.1 % too long, and never longer than the longest; 0 if there were none.
// mu is held.
func (l *Pauses) quantile(share float64) time.Duration {
	left := int(math.Ceil(share * float64(l.count)))
	for c, n := range l.sizes {
		if left -= n; left <= 0 && n > 0 {
			return min(time.Duration(math.Exp2(float64(c+1)/perOctave)*float64(time.Microsecond)), l.max)
		}
	}
	return l.max
}
