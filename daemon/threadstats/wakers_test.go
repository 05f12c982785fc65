package threadstats

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// TestWakers: who ends a wait is told for each way in which threads wait for one another, and that nobody of the program ends a sleep.
func TestWakers(t *testing.T) {
	k := opened(t)
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
	watched(t, k, p.PID, 64)
	if err := k.NeedWakers(); err != nil {
		t.Fatal(err)
	}
	defer k.ReleaseWakers()
	if _, err := k.Wakings(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	list, err := k.Wakings()
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range ends {
		var all, right time.Duration
		for _, w := range list {
			if w.Waiter != e[0] {
				continue
			}
			if all += w.Waited; w.Waker == e[1] {
				right += w.Waited
				if w.Count == 0 || e[1] != 0 && w.Process != p.PID {
					t.Errorf("%s: %+v", name, w)
				}
			}
		}
		if name == "mutex" {
			all -= napsOf(list, e[0])
		}
		t.Logf("%s: %v of %v", name, right, all)
		if all < 300*time.Millisecond || right < all*95/100 {
			t.Errorf("%s: of %v that thread %d waited, %v were ended by %d: %+v", name, all, e[0], right, e[1], list)
		}
	}
	if again, err := k.Wakings(); err != nil || len(again) > 0 && again[0].Waited > 500*time.Millisecond {
		t.Errorf("what was read is there again: %+v, %v", again, err)
	}
}

// napsOf is what of a thread's waits a timer has ended.
func napsOf(list []Waking, waiter int) (all time.Duration) {
	for _, w := range list {
		if w.Waiter == waiter && w.Waker == 0 {
			all += w.Waited
		}
	}
	return all
}
