package measuring

import (
	"slices"

	"culprit/daemon/kernel"
)

// mostDelayed bounds how many samples of a process wait until it can be looked at: each has a piece of a stack.
const mostDelayed = 256

// TakeSample hands on a sample that perf has taken. While somebody else has the lock it waits; false says that too many do, and that it is lost. One
// goroutine at a time calls it.
func (t *Process) TakeSample(s *kernel.Sample) bool {
	if t.TryLock() {
		defer t.Unlock()
		t.TakeDelayed()
		t.Profile.Take(s)
		return true
	}
	if len(t.delayed) >= mostDelayed {
		return false
	}
	kept := *s
	kept.Stack = slices.Clone(s.Stack)
	t.delayed = append(t.delayed, kept)
	return true
}

// TakeDelayed hands on the samples that have waited. The lock is held, by the goroutine that calls TakeSample.
func (t *Process) TakeDelayed() {
	for i := range t.delayed {
		t.Profile.Take(&t.delayed[i])
	}
	t.delayed = nil
}
