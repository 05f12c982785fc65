package daemon

import (
	"runtime"
	"time"

	"culprit/daemon/kernel"
)

const (
	idleEnough = 0.25 // of the processors' time: with less of it idle, or used by us, they are busy
	busyFor    = time.Second
	firstAsked = 200 * time.Millisecond // from the beginning, which is when most is done
	politeness = 5 * time.Millisecond   // that our timers may be late while they are busy: more than a tick of 250 a second
)

// usualProcessors is how many processors our runtime uses at once where there are enough, usualSlack how late its timers may be: they belong
// to the process, however many daemons there are in it.
var (
	usualProcessors = runtime.GOMAXPROCS(0)
	usualSlack      = kernel.TimerSlack()
)

// A demand tells whether others want all processors; it is asked every busyFor.
type demand struct {
	idle kernel.Idle
	last time.Time     // when it was asked
	next time.Time     // when it will be
	own  time.Duration // that we had used at last
	busy bool

	processors float64 // that are online; known when busy is

	strict bool // we may not have our timers late
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
	m.processors = float64(len(cpus))
	m.yield(int(budget * float64(len(cpus))))
}

// yield has our runtime use few processors at once while they are busy, one at least: with more, each of our wake-ups brings others that look
// for something to do. And its timers wait for the kernel's ticks: the runtime looks after itself every few hundred microseconds while
// it does anything, which was two of three times that a thread of ours took a processor from somebody.
func (m *demand) yield(few int) {
	n, late := usualProcessors, usualSlack
	if m.busy {
		n, late = min(max(few, 1), n), politeness
	}
	if late != kernel.TimerSlack() && !m.strict {
		m.strict = kernel.SetTimerSlack(late) != nil
	}
	if n != runtime.GOMAXPROCS(0) { // to set it stops all goroutines
		runtime.GOMAXPROCS(n)
	}
}

// end gives the runtime back what it had.
func (m *demand) end() {
	m.busy = false
	m.yield(0)
}
