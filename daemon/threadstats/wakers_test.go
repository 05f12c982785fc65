package threadstats

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestWakers: who ends a wait is told for each way in which threads wait for one another, and that nobody of the program ends a sleep, or a wait
// whose time is over: also where the timer's interrupt comes upon a system call of the program.
func TestWakers(t *testing.T) {
	w, err := OpenWakers()
	if errors.Is(err, ErrNotPermitted) || errors.Is(err, ErrNoBTF) || errors.Is(err, ErrUnsupported) {
		require.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	p := testprog.Start(t, testprog.Build(t, "daemon/threadstats/testdata/wakers.c", "-pthread"))
	ends := map[string][2]int{}
	p.Expect(t, "READY", 10*time.Second)
	for _, line := range p.Lines() {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		waiter, _ := strconv.Atoi(f[1])
		waker, _ := strconv.Atoi(f[2])
		ends[f[0]] = [2]int{waiter, waker}
	}
	w.Sum([]int{p.PID})
	if _, err := w.Take(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	list, err := w.Take()
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{"condition": unix.SYS_FUTEX, "pipe": unix.SYS_READ, "tcp": unix.SYS_RECVFROM, "barrier": unix.SYS_FUTEX, "epoll": unix.SYS_EPOLL_WAIT,
		"mutex": unix.SYS_FUTEX, "futex": unix.SYS_FUTEX, "signal": unix.SYS_RT_SIGTIMEDWAIT, "join": unix.SYS_FUTEX, "sleep": unix.SYS_CLOCK_NANOSLEEP,
		"timed": unix.SYS_FUTEX, "polled": unix.SYS_POLL}
	if len(ends) != len(calls) {
		t.Fatalf("the program tells of %v", ends)
	}
	for name, e := range ends {
		var all, right uint64
		for _, one := range list {
			if one.Waiter != e[0] || one.Call != calls[name] {
				continue
			}
			if all += one.Count; one.Waker == e[1] || e[1] < 0 && one.Process == p.PID && one.Waker != e[0] {
				right += one.Count
				if one.Count == 0 || e[1] != 0 && one.Process != p.PID || name != "sleep" && name != "polled" && one.Arg == 0 {
					t.Errorf("%s: %+v", name, one)
				}
			}
		}
		t.Logf("%s: %d of %d", name, right, all)
		if all < 100 || right < all*95/100 {
			t.Errorf("%s: of %d waits of thread %d, %d were ended by %d: %+v", name, all, e[0], right, e[1], list)
		}
	}
	w.Sum(nil)
	if _, err := w.Take(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if again, err := w.Take(); err != nil || len(again) > 0 {
		t.Errorf("nothing is summed, and there is %+v, %v", again, err)
	}
}
