package cost

import (
	"time"

	"culprit/daemon/kernel"
)

// Most processes of a server wait for work, and to count the calls of a function in one of them is to stop it twice for nothing. A process that
// has not run has called nothing, and its CPU time tells whether it has.

// idleShare is the share of the time that a process may have run and be idle all the same: to wake up for a look round takes 50 to 80 us on a
// virtual machine.
const idleShare = 0.002

// IsIdle tells whether a process that ran for a share of the time was idle.
func IsIdle(ran float64) bool { return ran <= idleShare }

// An Idle is a process that was idle at a time, and whose functions are taken for not called.
type Idle struct {
	pid  int
	used time.Duration // of CPUs, at
	at   time.Time
}

// WatchIdle begins to watch an idle process. The error says that it has ended.
func WatchIdle(pid int) (Idle, error) {
	used, err := kernel.ProcessTime(pid)
	return Idle{pid: pid, used: used, at: time.Now()}, err
}

// Woke tells whether the process has run since. The error says that it has ended.
func (i Idle) Woke() (bool, error) {
	used, err := kernel.ProcessTime(i.pid)
	return float64(used-i.used) > idleShare*float64(time.Since(i.at)), err
}
