package daemon

import (
	"runtime"
	"time"

	"culprit/daemon/kernel"
)

// Processors have less than idleEnough of their time to spare, or are busy; what we use is to spare. busyFor is how often that is asked, and
// firstAsked how soon.
const (
	idleEnough = 0.25
	busyFor    = time.Second
	firstAsked = 200 * time.Millisecond
)

// A demand tells whether others want all processors.
type demand struct {
	idle  kernel.Idle
	last  time.Time     // when it was asked
	next  time.Time     // when it will be
	own   time.Duration // that we had used at last
	busy  bool
	usual int // processors that our runtime may use at once; 0 while that is unchanged
}

// begin is called before anything is done.
func (m *demand) begin(now time.Time) {
	m.idle.Share()
	m.own, m.last, m.next = kernel.OwnTime(), now, now.Add(firstAsked)
}

// notice finds out now and then whether the processors are busy.
func (m *demand) notice(now time.Time, budget float64) {
	if now.Before(m.next) {
		return
	}
	cpus, err := kernel.OnlineCPUs()
	if err != nil || len(cpus) == 0 {
		return
	}
	own := kernel.OwnTime()
	ours := (own - m.own).Seconds() / (now.Sub(m.last).Seconds() * float64(len(cpus)))
	m.busy = m.idle.Share()+ours < idleEnough
	m.own, m.last, m.next = own, now, now.Add(busyFor)
	m.yield(int(budget * float64(len(cpus))))
}

// yield has our runtime use few processors at once while they are busy, one at least: with more, each of our wake-ups brings others that look
// for something to do.
func (m *demand) yield(few int) {
	switch {
	case m.busy && m.usual == 0:
		m.usual = runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(min(max(few, 1), m.usual))
	case !m.busy:
		m.end()
	}
}

// end gives the runtime back what it had.
func (m *demand) end() {
	if m.usual > 0 {
		runtime.GOMAXPROCS(m.usual)
		m.usual = 0
	}
}

// budget is the share of the machine that we may use where processors are busy, and of a target's time that probes may.
func (d *Daemon) budget() float64 {
	if d.opts.Budget > 0 {
		return d.opts.Budget
	}
	return usualBudget
}

// isBusy reports whether no processor is idle.
func (d *Daemon) isBusy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.demand.busy
}
