package daemon

import (
	"math"
	"sync"
	"time"

	"culprit/daemon/cost"
	"culprit/daemon/process"
)

// A pauseLog adds up the stops of the target.
type pauseLog struct {
	mu    sync.Mutex
	count int
	max   time.Duration
	sum   time.Duration
	later time.Duration   // of sum, the pauses that ended more than earlyTime after the attach
	last  []time.Duration // at most keepPauses

	threads int                      // that were stopped, over all stops
	cuts    int                      // blocking calls that moved less than they were to
	sizes   [octaves * perOctave]int // how many pauses were of which length
}

// The lengths of pauses are counted in classes, so many to each octave of microseconds: 2^30 are 18 minutes.
const (
	octaves   = 30
	perOctave = 8
)

// classOf is the class of a pause.
func classOf(d time.Duration) int {
	us := max(float64(d)/float64(time.Microsecond), 1)
	return min(int(math.Log2(us)*perOctave), octaves*perOctave-1)
}

// quantile is a length that a share of the pauses do not pass, at most 9.1 % too long, and never longer than the longest; 0 if there were none.
func (l *pauseLog) quantile(share float64) time.Duration {
	left := int(math.Ceil(share * float64(l.count)))
	for c, n := range l.sizes {
		if left -= n; left <= 0 && n > 0 {
			return min(time.Duration(math.Exp2(float64(c+1)/perOctave)*float64(time.Microsecond)), l.max)
		}
	}
	return l.max
}

// keepPauses is how many pauses are kept one by one.
const keepPauses = 256

// earlyTime is the beginning of a session, in which most probes of a search go in.
const earlyTime = 5 * time.Second

// add takes note of a pause that ended so long after the attach.
func (l *pauseLog) add(p process.Pause, at time.Duration) {
	if p.Total == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	l.max = max(l.max, p.Total)
	l.sum += p.Total
	if at > earlyTime {
		l.later += p.Total
	}
	l.threads += p.Threads
	l.cuts += p.Cuts
	l.sizes[classOf(p.Total)]++
	if l.last = append(l.last, p.Total); len(l.last) > keepPauses {
		l.last = l.last[1:]
	}
}

// Pauses returns how long the targets stood still in each of the last stops, oldest first; 256 at most.
func (d *Daemon) Pauses() []time.Duration {
	d.pauses.mu.Lock()
	defer d.pauses.mu.Unlock()
	return append([]time.Duration(nil), d.pauses.last...)
}

func (l *pauseLog) total() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum
}

// accountCost adds what a pass has found to the observed cost; cpus is what probes and stack samples took. d.mu is held.
func (d *Daemon) accountCost(now, cpus float64) {
	active := 0.0
	for _, t := range d.targets {
		active += t.Threads.Active()
	}
	d.accountTaken(d.observed.Since(now), cpus)
	d.observed.Add(cost.Pass{At: now, CPUs: cpus, Active: active, Statistics: d.rowsCost(), Paused: d.pauses.total(), Targets: len(d.targets)})
}

// Stood is how many seconds each target stood still since the attach, on average.
func (d *Daemon) Stood() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return cost.Stood(d.pauses.total(), len(d.targets))
}

// lostShare is what the targets have lost of their time since the attach, as a fraction.
func (d *Daemon) lostShare() float64 {
	d.mu.Lock()
	targets := len(d.targets)
	d.mu.Unlock()
	return d.observed.Share(d.Now(), d.pauses.total(), targets)
}

// samplingCost is what stack samples took since the last accounting of targets that are only looked at, in CPUs. d.mu is held.
func (d *Daemon) samplingCost(now float64) (cpus float64) {
	since := d.observed.Since(now)
	for _, t := range d.targets {
		if t.sampled != nil {
			cpus += cost.Samples(t.sampled.taken, since)
			t.sampled.taken = 0
		}
	}
	return cpus
}

// ObservedCost implements grid.Instrumenter.
func (d *Daemon) ObservedCost() float64 { return d.observed.Lately() }
