package daemon

import (
	"runtime"
	"testing"

	"culprit/daemon/kernel"
	"culprit/grid"
	"culprit/internal/testprog"
)

// BenchmarkPass is a pass over the cells of counters, timers, a distribution and a table in the blocks of 200 threads.
func BenchmarkPass(b *testing.B) {
	p := testprog.StartTarget(b, testprog.Build(b, "testdata/targets/threads.c"), "200", "100")
	d := attachTo(b, p.PID)
	keys := []grid.PairKey{nameOf(b, d, "procedure_calls", "little_work"), nameOf(b, d, "exec_time_inclusive", "little_work"), nameOf(b, d, "cpu_inclusive", "little_work"),
		nameOf(b, d, "exec_time_inclusive", "worker"), nameOf(b, d, "exec_time", "worker"), key(b, "sync_wait_inclusive", "/"), key(b, "io_wait_inclusive", "/"),
		key(b, "io_latency", "/"), key(b, "lock_wait", "/")}
	var s sums
	d.mustEnable(b, &s, keys...)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := kernel.OwnThreadTime()
	for b.Loop() {
		d.mu.Lock()
		h := d.holdFree()
		d.passes.samplePairs(h, d.Now(), d.pairs)
		h.release()
		d.mu.Unlock()
	}
	b.ReportMetric(float64(kernel.OwnThreadTime()-before)/float64(b.N), "cpu-ns/op")
	d.Disable(keys)
	detachClean(b, d, p.PID)
	p.Stop(b)
}
