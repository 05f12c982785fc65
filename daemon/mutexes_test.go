package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// The sixteen mutexes of testdata/targets/mutexes.cc by the names that people know them by; "" stands for the address.
var mutexNames = [16]string{"global_lock", "global_mutex", "file_lock", "file_mutex", "function_lock()::in_function", "cache.lock", "cache.stats",
	"table.guard", "table.schema.change", "shards[0]", "shards[2]", "buckets[1].lock", "buckets[3].lock", "Queue.lock 0x", "pool.mutex 0x", "0x"}

// mutexesOf waits until all mutexes of the program were seen by their names, and returns the names in order.
func mutexesOf(t *testing.T, d *Daemon, p *testprog.Prog) (names []string) {
	t.Helper()
	addrs := map[int]string{}
	for _, l := range p.Lines() {
		var i int
		var at string
		if n, _ := fmt.Sscanf(l, "ADDRESS %d %s", &i, &at); n == 2 {
			addrs[i] = strings.TrimPrefix(at, "0x")
		}
	}
	for i, n := range mutexNames {
		if strings.HasSuffix(n, "0x") {
			n += addrs[i]
		}
		if i == 15 {
			n += " (visit(int, void (*)(void*), void*))"
		}
		names = append(names, n)
	}
	for range 8 { // each time half a second
		p.Say(t, "warm")
		p.Expect(t, "WARM", 20*time.Second)
		seen := d.Tree().Children(grid.SyncObject, "Mutex")
		if !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(seen, n) }) {
			return names
		}
	}
	t.Fatalf("the names are %q, want %q", d.Tree().Children(grid.SyncObject, "Mutex"), names)
	return nil
}

// TestMutexesByName compares waits for sixteen mutexes and how often they were taken with what the program knows of each.
func TestMutexesByName(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/mutexes.cc"), "25")
	d := attachTo(t, p.PID)
	waits, ops := truths{}, truths{}
	for i, n := range mutexesOf(t, d, p) {
		f := "@" + grid.Whole().Refine(grid.SyncObject, "Mutex", n).String()
		waits["sync_wait"+f] = fmt.Sprintf("waited%d", i)
		ops["sync_ops"+f] = fmt.Sprintf("taken%d", i)
	}
	got := across(t, d, p, slices.Concat(waits.keys(t), ops.keys(t))...)
	waits.check(t, got, p.Counts(), 1e-9, 0.02)
	ops.check(t, got, p.Counts(), 1, 0)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestMutexesByOneProbe compares what one probe for all mutexes tells of each of them, and of all together, with the program's
// account, also below the function that takes them.
func TestMutexesByOneProbe(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/mutexes.cc"), "25")
	d := attachTo(t, p.PID)
	waits, ops, sleeps := truths{}, truths{}, truths{}
	var all [3]string
	for i, n := range mutexesOf(t, d, p) {
		f := "@" + grid.Whole().Refine(grid.SyncObject, "Mutex", n).String()
		waits["lock_wait"+f] = fmt.Sprintf("waited%d", i)
		ops["lock_acquisitions"+f] = fmt.Sprintf("taken%d", i)
		sleeps["lock_contention"+f] = fmt.Sprintf("contended%d", i)
		for k, name := range []string{"waited", "taken", "contended"} {
			all[k] += fmt.Sprintf(" %s%d", name, i)
		}
	}
	inVisit := ",/SyncObject/Mutex/cache.lock"
	const visit = "@/Code/mutexes.cc/visit(int, void (*)(void*), void*)"
	ops["lock_acquisitions"+visit] = all[1]
	ops["lock_acquisitions"+visit+inVisit] = "taken5"
	sleeps["lock_contention"+visit] = all[2]
	waits["lock_wait"+visit] = all[0]
	waits["lock_wait"+visit+inVisit] = "waited5"
	named := len(d.targets[0].Named("__lll_lock_wait")) > 0
	if !named {
		sleeps = nil
	}
	got := across(t, d, p, slices.Concat(waits.keys(t), ops.keys(t), sleeps.keys(t))...)
	waits.check(t, got, p.Counts(), 1e-9, 0.02)
	ops.check(t, got, p.Counts(), 1, 0)
	sleeps.check(t, got, p.Counts(), 1, 0.02)
	if len(d.pairs) != 0 {
		t.Errorf("%d pairs are left", len(d.pairs))
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
	if !named {
		require.Skip(t, "needs the symbols of the C library for contention (libc6-dbg)")
	}
}
