package measuring

import (
	"slices"

	"culprit/daemon/kernel"
)

// mostDelayed bounds how many samples of a process wait until it can be looked at: each has a piece of a stack.
const mostDelayed = 256

// TakeSample hands on a sample that perf has taken. While somebody else has the lock, or a table is made that it takes, it waits; false says that too
// many do, and that it is lost. One goroutine at a time calls it.
func (t *Process) TakeSample(s *kernel.Sample) bool {
	if t.takeNow(s) {
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

func (t *Process) takeNow(s *kernel.Sample) bool {
	if !t.TryLock() {
		return false
	}
	defer t.Unlock()
	t.TakeDelayed()
	return t.take(s)
}

// TakeDelayed hands on the samples that have waited. The lock is held, by the goroutine that calls TakeSample.
func (t *Process) TakeDelayed() {
	for len(t.delayed) > 0 && t.take(&t.delayed[0]) {
		t.delayed = t.delayed[1:]
	}
}

// take hands on a sample, or has made beside what its stack needs of files: whoever reads samples holds what all that is measured waits for, and a table
// of a large program takes a second.
func (t *Process) take(s *kernel.Sample) bool {
	if t.Making() {
		return false
	}
	lacks := t.Profile.Take(s)
	if lacks == nil {
		return true
	}
	t.making.Store(true)
	t.makers.Go(func() {
		lacks()
		t.making.Store(false)
	})
	return false
}

// Making reports whether tables are made that samples of the process wait for.
func (t *Process) Making() bool { return t.making.Load() }
