package daemon

import (
	"math"
	"sync"
	"time"

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

// accountCost smooths the observed cost over about a second, and adds up what was lost. The cost is a fraction of the time that the target was
// active. A pass that comes sooner than a tick counts for less.
func (d *Daemon) accountCost(now, cpus float64) {
	active := 0.0
	for _, t := range d.targets {
		active += t.Threads.Active()
	}
	pause := d.pauses.total()
	stood := d.standing(pause - d.lastPause)
	d.lastPause = pause
	span := now - d.accounted
	d.accountTaken(span, cpus)
	running := min(cpus/max(active, 1), 1) + d.rowsCost() // a reading that comes late counts for more than its interval: no probe takes more than all
	step := min(span/tickInterval.Seconds(), 1)
	d.accounted = now
	d.costMu.Lock()
	d.cost += 0.3 * (step*(running-d.cost) + stood/max(span, tickInterval.Seconds()))
	d.lost += running*span + stood
	d.costMu.Unlock()
}

// standing is what the targets lost of their time by pauses, in seconds: one of them stood still, the others ran.
func (d *Daemon) standing(pauses time.Duration) float64 {
	return pauses.Seconds() / float64(max(len(d.targets), 1))
}

// Stood is how many seconds each target stood still since the attach, on average.
func (d *Daemon) Stood() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.standing(d.pauses.total())
}

// lostShare is what the targets have lost of their time since the attach, as a fraction.
func (d *Daemon) lostShare() float64 {
	d.mu.Lock()
	after := d.standing(d.pauses.total() - d.lastPause)
	d.mu.Unlock()
	d.costMu.Lock()
	defer d.costMu.Unlock()
	return min((d.lost+after)/max(d.Now(), 0.001), 1)
}

// sampleCost is what a stack sample takes of the thread that it is taken of, in seconds: an interrupt, and StackBytes to be copied.
const sampleCost = 10e-6

// samplingCost is what stack samples took since the last accounting of targets that are only looked at, in processors.
func (d *Daemon) samplingCost(now float64) (cost float64) {
	for _, t := range d.targets {
		if t.sampled != nil {
			cost += float64(t.sampled.taken) * sampleCost / max(now-d.accounted, tickInterval.Seconds())
			t.sampled.taken = 0
		}
	}
	return cost
}

func (d *Daemon) observed() float64 {
	d.costMu.Lock()
	defer d.costMu.Unlock()
	return d.cost
}

// ObservedCost implements grid.Instrumenter.
func (d *Daemon) ObservedCost() float64 { return d.observed() }
