package process

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/hurry"
	"culprit/daemon/process/raw"
	"culprit/internal/require"
)

// policies counts the threads of this program by their scheduling policy.
func policies(t *testing.T) map[uint32]int {
	t.Helper()
	count := map[uint32]int{}
	tids, err := raw.Tasks(os.Getpid())
	must(t, err)
	for _, tid := range tids {
		if a, err := unix.SchedGetAttr(tid, 0); err == nil {
			count[a.Policy]++
		}
	}
	return count
}

// TestHurry: within a stop all threads of ours go before others, and behind it none does.
func TestHurry(t *testing.T) {
	require.Root(t)
	if hurry.CPUs() < 2 {
		require.Skip(t, "one CPU only")
	}
	p := open(t, start(t, compile(t, blockedSource)).pid())
	before, err := unix.SchedGetAttr(os.Getpid(), 0)
	must(t, err)
	stop(t, p, func(*World) error {
		if n := policies(t); n[unix.SCHED_FIFO] < 2 || n[unix.SCHED_NORMAL] > 1 { // one may have begun since
			t.Errorf("in a stop, threads by policy: %v", n)
		}
		return nil
	})
	for end := time.Now().Add(5 * time.Second); policies(t)[unix.SCHED_FIFO] > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("behind a stop, threads by policy: %v", policies(t))
		}
	}
	after, err := unix.SchedGetAttr(os.Getpid(), 0)
	must(t, err)
	if after.Nice != before.Nice || after.Flags != before.Flags {
		t.Errorf("after a stop: %+v, before %+v", after, before)
	}
}
