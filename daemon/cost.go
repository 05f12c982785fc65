package daemon

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/pcl"
)

// Prices of one execution in ns, added to the target. They are floors that were measured with bench (see bench/); what
// depends most on the machine, reading the clocks, is measured when the daemon starts.
type prices struct {
	jump    float64 // way in and out, saving registers, finding the thread's block
	simple  float64 // a counter or a flag
	wall    float64 // one reading of the time-stamp counter
	cpuTime float64 // one reading of the thread's CPU time
	load    float64 // one reading of memory behind a pointer
}

// measurePrices takes about a millisecond.
func measurePrices(hz float64) prices {
	p := prices{jump: 1.5, simple: 0.5}
	const n = 2000
	best := func(f func()) float64 {
		min := time.Hour
		for range 5 {
			start := time.Now()
			for range n / 5 {
				f()
			}
			if d := time.Since(start); d < min {
				min = d
			}
		}
		return float64(min.Nanoseconds()) / (n / 5)
	}
	p.wall = best(func() { tsc() }) + 1
	var ts unix.Timespec
	p.cpuTime = best(func() { unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) }) + 5
	p.load = best(func() { readSelf() })
	return p
}

// of is the price of one execution of a request.
func (p prices) of(plan *pcl.Plan, r *pcl.Request) float64 {
	ns := p.jump + p.simple*float64(len(r.Guards))
	for _, in := range r.Code {
		ns += p.simple + p.load*float64(reads(in.Expr)+reads(in.Cond))
		switch in.Op {
		case pcl.OpTimerEnter, pcl.OpTimerLeave, pcl.OpTimerStart, pcl.OpTimerStop:
			if plan.Vars[in.Var].Kind == pcl.ProcessTimer {
				ns += p.cpuTime
			} else {
				ns += p.wall
			}
		}
	}
	return ns
}

// average is the mean price of an execution over the requests of a plan.
func (p prices) average(plan *pcl.Plan) float64 {
	if len(plan.Requests) == 0 {
		return 0
	}
	var sum float64
	for i := range plan.Requests {
		sum += p.of(plan, &plan.Requests[i])
	}
	return sum / float64(len(plan.Requests))
}

// A pauseLog adds up the stops of the target.
type pauseLog struct {
	mu    sync.Mutex
	count int
	max   time.Duration
	sum   time.Duration
	last  []time.Duration // at most keepPauses
}

// keepPauses is how many pauses are kept one by one.
const keepPauses = 256

func (l *pauseLog) add(p process.Pause) {
	if p.Total == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	l.max = max(l.max, p.Total)
	l.sum += p.Total
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

// accountCost smooths the observed cost over about a second. It is a fraction of the time that the target was active.
func (d *Daemon) accountCost(cpus float64) {
	active := 0.0
	for _, t := range d.targets {
		active += t.activeThreads()
	}
	pause := d.pauses.total()
	share := (pause - d.lastPause).Seconds() / tickInterval.Seconds()
	d.lastPause = pause
	cost := cpus/max(active, 1) + share
	d.costMu.Lock()
	d.cost += 0.3 * (cost - d.cost)
	d.costMu.Unlock()
}

func (d *Daemon) observed() float64 {
	d.costMu.Lock()
	defer d.costMu.Unlock()
	return d.cost
}

// ObservedCost implements grid.Instrumenter.
func (d *Daemon) ObservedCost() float64 { return d.observed() }

// activeThreads is how many threads of the target were not idle lately.
func (t *target) activeThreads() (n float64) {
	t.threads.mu.Lock()
	defer t.threads.mu.Unlock()
	for _, w := range t.threads.rows {
		off := w.offCPU(tickInterval.Seconds())
		n += min(1, (tickInterval.Seconds()-off+w.waiting(tickInterval.Seconds()))/tickInterval.Seconds())
	}
	return n
}
