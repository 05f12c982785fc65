package process

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
)

// TestHurry: behind a stop the tracer's thread is as any other again.
func TestHurry(t *testing.T) {
	require.Root(t)
	if processors() < 2 {
		require.Skip(t, "one processor only")
	}
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -7)
	attr := func() unix.SchedAttr {
		a, err := unix.SchedGetAttr(0, 0)
		must(t, err)
		return *a
	}
	before := attr()
	calm := hurry()
	if in := attr(); in.Policy != unix.SCHED_FIFO {
		t.Errorf("in a stop: %+v", in)
	}
	calm()
	if after := attr(); after.Policy != before.Policy || after.Nice != before.Nice || after.Priority != before.Priority {
		t.Errorf("after a stop: %+v, before %+v", after, before)
	}
}
