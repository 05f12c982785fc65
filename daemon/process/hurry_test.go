package process

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
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
		if n := policies(t); n[unix.SCHED_RR] < 2 || n[unix.SCHED_NORMAL] > 1 { // one may have begun since
			t.Errorf("in a stop, threads by policy: %v", n)
		}
		return nil
	})
	for end := time.Now().Add(5 * time.Second); policies(t)[unix.SCHED_RR] > 0; time.Sleep(time.Millisecond) {
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

func init() { helpers["waiting for its own"] = waitsForItsOwn }

// waitsForItsOwn is a culprit that hurries, of which one thread computes until another one has had a CPU for a moment. It gives up after three seconds.
func waitsForItsOwn([]string) int {
	var hurries, had atomic.Bool
	ready := make(chan bool)
	go func() {
		runtime.LockOSThread()
		ready <- true
		for !hurries.Load() {
			raw.Nap(time.Millisecond)
		}
		raw.Nap(20 * time.Millisecond)
		had.Store(true)
	}()
	<-ready
	_, _ = io.ReadAll(os.Stdin) // until all begin
	hurry.Begin()
	defer hurry.End()
	hurries.Store(true)
	for began := time.Now(); !had.Load(); {
		if time.Since(began) > 3*time.Second {
			return 1
		}
	}
	return 0
}

// TestSeveralHurry: where more culprits hurry than there are CPUs, each comes to its end.
func TestSeveralHurry(t *testing.T) {
	require.Root(t)
	if hurry.CPUs() < 2 {
		require.Skip(t, "one CPU only")
	}
	var all []*exec.Cmd
	var begin []io.Closer
	for range hurry.CPUs() + 1 {
		cmd := self("waiting for its own")
		in, err := cmd.StdinPipe()
		must(t, err)
		must(t, cmd.Start())
		all, begin = append(all, cmd), append(begin, in)
	}
	time.Sleep(200 * time.Millisecond)
	for _, in := range begin {
		in.Close()
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("one whose threads wait for each other: %v", err)
		}
	}
}
