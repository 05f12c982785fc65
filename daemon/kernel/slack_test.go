package kernel

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
)

// slackOf reads the timer slack of a thread; it is not there if the thread has ended.
func slackOf(t *testing.T, tid int) (slack time.Duration, there bool) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/timerslack_ns")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return 0, false
	}
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n), true
}

// A timer slack goes to all threads, those of the runtime as well, and to a thread that is made afterwards.
func TestTimerSlack(t *testing.T) {
	const late = 3 * time.Millisecond
	usual := TimerSlack()
	if err := SetTimerSlack(late); err != nil {
		require.Skipf(t, "a timer slack cannot be set here: %v", err)
	}
	defer SetTimerSlack(usual)
	if got := TimerSlack(); got != late {
		t.Errorf("it is %v", got)
	}
	made := make(chan int)
	go func() {
		runtime.LockOSThread() // and ends with the goroutine
		made <- unix.Gettid()
		made <- 0
	}()
	if got, _ := slackOf(t, <-made); got != late {
		t.Errorf("a new thread has %v", got)
	}
	<-made
	for _, want := range []time.Duration{late, usual} {
		if err := SetTimerSlack(want); err != nil {
			t.Fatal(err)
		}
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil || len(threads) < 2 {
			t.Fatalf("%d threads: %v", len(threads), err)
		}
		for _, one := range threads {
			tid, _ := strconv.Atoi(one.Name())
			if got, there := slackOf(t, tid); there && got != want {
				t.Errorf("thread %d has %v, not %v", tid, got, want)
			}
		}
	}
}
