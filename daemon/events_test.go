package daemon

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"culprit/daemon/kernel"
	"culprit/grid"
	"culprit/internal/testprog"
)

const eventMetrics = `
metric used { name "used"; units ns; unitsType unnormalized; aggregateOperator sum; style EventCounter; base is hwCounter("task-clock"); }
metric done { name "done"; units instructions; unitsType unnormalized; aggregateOperator sum; style EventCounter; base is hwCounter("instructions"); }`

// TestEventsOfAThread: what perf counts in one thread is what the scheduler says of it; the whole program has all threads', with probes and
// without. When nobody asks any more no descriptor is left.
func TestEventsOfAThread(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"), "3", "0")
	d := attachWith(t, eventMetrics, p.PID)
	thread := secondThread(t, p.PID)
	whole, one := key(t, "used", "/"), key(t, "used", "/")
	one.Focus = one.Focus.Refine(grid.Process, d.targets[0].Name, d.targets[0].Threads.Name(thread))
	var s sums
	before, open := ranFor(t, p.PID, thread), openCounters(t)
	d.mustEnable(t, &s, whole, one)
	time.Sleep(600 * time.Millisecond)
	if r := d.Enable([]grid.PairKey{key(t, "done", "/")}, &s); r[0].Err != nil && !errors.As(r[0].Err, new(grid.ErrUnsupported)) {
		t.Errorf("instructions: %v", r[0].Err)
	} else {
		t.Log("instructions: ", r[0].Err)
	}
	d.Disable([]grid.PairKey{whole, one, key(t, "done", "/")})
	ran := (ranFor(t, p.PID, thread) - before).Seconds()
	got, all := s.of(one)/1e9, s.of(whole)/1e9
	t.Logf("the thread ran for %.3f s, %.3f s are counted, %.3f s of all", ran, got, all)
	// The scheduler's account is up to a tick old. It was read before the count began and after it ended, the last pass was up to 200 ms
	// before that.
	if got > ran+0.01 || got < ran/2 {
		t.Error("they differ")
	}
	if all < 1.5*got {
		t.Error("three threads run no longer than one")
	}
	d.Settle()
	if now := openCounters(t); now > open {
		t.Errorf("%d descriptors are open, %d before", now, open)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

func ranFor(t *testing.T, pid, tid int) time.Duration {
	t.Helper()
	times, err := kernel.ReadThread(pid, tid)
	if err != nil {
		t.Fatal(err)
	}
	return times.Run
}

// openCounters is how many counters of perf this process has open.
func openCounters(t *testing.T) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if link, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%s", e.Name())); link == "anon_inode:[perf_event]" {
			n++
		}
	}
	return n
}
