package resume

import (
	"time"

	"culprit/daemon/process/raw"
)

// A wait whose rest cannot be told the kernel goes on with its whole timeout, until its time is over: then its thread alone is stopped once more
// and gets the result that says so.

// endsAt notes when a wait that goes on too long is to be ended, on the monotonic clock.
func (c *Calls) endsAt(tid int, end time.Duration) { c.endings[tid] = end }

// ForgetEnding is for a thread that has stopped, unless it had no time to make the call again from which the last stop took it.
func (c *Calls) ForgetEnding(tr *raw.Tracee) {
	if _, again := tagged(tr.Regs.Rax); !again {
		delete(c.endings, tr.TID)
	}
}

// NextEnding is when the next wait is to be ended.
func (c *Calls) NextEnding() (at time.Duration, ok bool) {
	for _, end := range c.endings {
		if !ok || end < at {
			at, ok = end, true
		}
	}
	return at, ok
}

// Over gives the threads whose waits are over, in no order, each once: that they stop is up to the caller.
func (c *Calls) Over(now time.Duration) (tids []int) {
	for tid, end := range c.endings {
		if end <= now {
			delete(c.endings, tid)
			tids = append(tids, tid)
		}
	}
	return tids
}
