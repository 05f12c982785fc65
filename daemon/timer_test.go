package daemon

import (
	"math"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// measure enables pairs for a while and returns their averages per second.
func measure(t *testing.T, d *Daemon, over time.Duration, keys ...grid.PairKey) map[string]float64 {
	t.Helper()
	var s sums
	d.mustEnable(t, &s, keys...)
	start := time.Now()
	time.Sleep(over)
	d.Disable(keys)
	took := time.Since(start).Seconds()
	m := map[string]float64{}
	for _, k := range keys {
		m[k.String()] = s.of(k) / took
		t.Logf("%-70s %.4f", k, m[k.String()])
	}
	return m
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: %.4f, want %.4f (within %.4f)", what, got, want, tolerance)
	}
}

func TestFunctionsEnteredBeforeAttach(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/eventloop.c"))
	d := attachTo(t, p.PID)
	m := measure(t, d, 3*time.Second,
		key(t, "exec_time_inclusive", "/Code/eventloop.c/main"),
		key(t, "exec_time_inclusive", "/Code/eventloop.c/event_loop"),
		key(t, "exec_time_inclusive", "/Code/eventloop.c/handle_event"),
		key(t, "cpu_inclusive", "/Code/eventloop.c/main"),
		key(t, "cpu_inclusive", "/Code/eventloop.c/handle_event"),
		key(t, "cpu_inclusive", "/"),
		key(t, "cpu_inclusive", "/Code/eventloop.c/pump"))
	near(t, "main", m["exec_time_inclusive@/Code/eventloop.c/main"], 1, 0.02)
	near(t, "event_loop", m["exec_time_inclusive@/Code/eventloop.c/event_loop"], 1, 0.02)
	handled := m["exec_time_inclusive@/Code/eventloop.c/handle_event"]
	if handled < 0.1 || handled > 0.5 {
		t.Errorf("handle_event: %.3f, want about 0.25", handled)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

func TestWaitingForAMutex(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/mutex.c"), "4")
	d := attachTo(t, p.PID)
	m := measure(t, d, 3*time.Second,
		key(t, "sync_wait_inclusive", "/"),
		key(t, "sync_wait_inclusive", "/Code/mutex.c/lookup"),
		key(t, "sync_wait_inclusive", "/Code/mutex.c/serve"),
		key(t, "sync_wait", "/Code/mutex.c/lookup"),
		key(t, "sync_wait", "/Code/mutex.c/serve"),
		key(t, "sync_wait_inclusive", "/Code/mutex.c/compute"),
		key(t, "sync_wait_inclusive", "/SyncObject/Mutex/cache_lock"),
		key(t, "sync_wait_inclusive", "/Code/mutex.c/lookup,/SyncObject/Mutex/cache_lock"),
		key(t, "sync_ops", "/"), key(t, "active_threads", "/"), key(t, "blocked", "/"),
		key(t, "cpu", "/Code/mutex.c/compute"), key(t, "cpu_inclusive", "/Code/mutex.c/compute"), key(t, "cpu", "/Code/mutex.c/serve"),
		key(t, "exec_time", "/Code/mutex.c/serve"), key(t, "exec_time", "/Code/mutex.c/lookup"))
	near(t, "whole program", m["sync_wait_inclusive@/"], 3, 0.4)
	near(t, "lookup", m["sync_wait_inclusive@/Code/mutex.c/lookup"], m["sync_wait_inclusive@/"], 0.1)
	near(t, "cache_lock", m["sync_wait_inclusive@/SyncObject/Mutex/cache_lock"], m["sync_wait_inclusive@/"], 0.1)
	near(t, "compute", m["sync_wait_inclusive@/Code/mutex.c/compute"], 0, 0.001)
	detachClean(t, d, p.PID)
	p.Stop(t)
}
