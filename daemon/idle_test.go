package daemon

import (
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestIdlePlaces: threads that wait for one that sleeps have nothing to do, and it is told where, and who gives them something to do.
func TestIdlePlaces(t *testing.T) {
	p := testprog.Start(t, testprog.Build(t, "testdata/culprits/mail_queue.cc"))
	d := attachTo(t, p.PID)
	var idle grid.Idle
	told := func() bool {
		idle = d.Idle()
		if len(idle.Places) == 0 || idle.Share < 0.8 {
			return false
		}
		waits := idle.Places[0]
		return strings.Contains(waits.Function, "submit_mail") && waits.Threads >= 2 && waits.Share >= 0.4 && strings.Contains(waits.WakesIn, "deliver_mail")
	}
	for began := time.Now(); !told(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 15*time.Second {
			t.Fatalf("told is %+v", idle)
		}
	}
	detachClean(t, d, p.PID)
}

// TestWaitForChild: a program that starts others, one after another, and waits for each has nothing to do, and it is told that it waits for a child.
func TestWaitForChild(t *testing.T) {
	require.Tool(t, "perl")
	p := testprog.Start(t, "perl", "-e", `while (1) { my $pid = fork; if ($pid == 0) { exec "sleep", "0.3" } waitpid $pid, 0 }`)
	d := attachTo(t, p.PID)
	var idle grid.Idle
	told := func() bool {
		idle = d.Idle()
		return len(idle.Places) > 0 && idle.Places[0].For == grid.ForChild && idle.Places[0].Share >= 0.5
	}
	for began := time.Now(); !told(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 15*time.Second {
			t.Fatalf("told is %+v", idle)
		}
	}
	for _, at := range idle.Places {
		if at.For == grid.ForChild && at.Waker != "" {
			t.Errorf("each child is told as a waker: %+v", idle)
		}
	}
	detachClean(t, d, p.PID)
}

// TestDatabaseLock: sessions that wait for a lock of a database wait for other threads, in the call in which they also wait for their clients, and however
// rarely it is handed on.
func TestDatabaseLock(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/databaselock.c"))
	d := attachTo(t, p.PID)
	keys := []grid.PairKey{key(t, "sync_event_wait", "/"), key(t, "io_reply_wait", "/")}
	var s sums
	d.mustEnable(t, &s, keys...)
	time.Sleep(2 * time.Second) // until each of them has been looked at some times
	before, from := [2]float64{s.of(keys[0]), s.of(keys[1])}, time.Now()
	time.Sleep(4 * time.Second)
	span := time.Since(from).Seconds()
	if locks, replies := s.of(keys[0])-before[0], s.of(keys[1])-before[1]; locks < 2.2*span || locks > 3.3*span || replies > 0.2*span {
		t.Errorf("%.1f s of waiting for other threads and %.1f s for replies in %.1f s; three wait all the time", locks, replies, span)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
