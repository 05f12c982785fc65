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

// Over gives the threads whose waits are over, in no order. They are over once more after again, should they not stop now, or have no time to
// make their calls again.
func (c *Calls) Over(now, again time.Duration) (tids []int) {
	for tid, end := range c.endings {
		if end > now {
			continue
		}
		c.endings[tid] = now + again
		tids = append(tids, tid)
	}
	return tids
}

// Drop is for a thread that does not wait any more.
func (c *Calls) Drop(tid int) { delete(c.endings, tid) }
