package daemon

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/daemon/locks"
	"culprit/daemon/probe"
	"culprit/daemon/segment"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/trampoline"
)

// The sixteen mutexes of testdata/targets/mutexes.cc by the names that people know them by; "" stands for the address.
var mutexNames = [16]string{"global_lock", "global_mutex", "file_lock", "file_mutex", "function_lock()::in_function", "cache.lock", "cache.stats",
	"table.guard", "table.schema.change", "shards[0]", "shards[2]", "buckets[1].lock", "buckets[3].lock", "Queue.lock 0x", "pool.mutex 0x", "0x"}

// mutexesOf waits until those mutexes of the program that have no symbol and most of the others were seen by their names, and no others,
// and returns the names in order.
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
	for range 12 { // each time half a second
		p.Say(t, "warm")
		p.Expect(t, "WARM", time.Minute)
		seen := d.Tree().Children(grid.SyncObject, "Mutex")
		heap := slices.ContainsFunc(names[13:], func(n string) bool { return !slices.Contains(seen, n) })
		if strange := slices.ContainsFunc(seen, func(n string) bool { return !slices.Contains(names, n) }); strange {
			break
		}
		if !heap && len(seen) >= len(names)*3/4 { // the others have symbols: they can be named before anybody was seen waiting
			t.Logf("%d of %d names were seen", len(seen), len(names))
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

// ofTable are the mutexes that are known of the table of testdata/targets/stripes.c. The C library takes locks of its own.
func ofTable(d *Daemon) []string {
	return slices.DeleteFunc(d.Tree().Children(grid.SyncObject, "Mutex"), func(n string) bool {
		return !strings.HasPrefix(n, "table.stripes[") && n != "table.lock"
	})
}

// TestLocksAreFound: locks that nobody waits for become known by being taken. Of more than a thread has room for only some do, and the
// sum of all is right.
func TestLocksAreFound(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/stripes.c"), "2000", "8")
	d := attachTo(t, p.PID)
	var s sums
	pairs := []grid.PairKey{key(t, "lock_acquisitions", "/"), key(t, "lock_acquisitions", "/Code/stripes.c/worker")}
	enableSoon(t, d, &s, pairs)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	for began := time.Now(); len(ofTable(d)) < locks.MaxTaken-10 && time.Since(began) < 10*time.Second; {
		time.Sleep(tickInterval)
	}
	d.Disable(pairs)
	if list := d.Refinements(grid.Whole().Refine(grid.SyncObject, "Mutex"), grid.SyncObject); len(list) > 20 { // some are waited for, after all
		t.Errorf("the search is offered %d mutexes that nobody waits for", len(list))
	}
	counts, all := p.Counts(), len(d.Tree().Children(grid.SyncObject, "Mutex"))
	t.Logf("%d of %d mutexes are known; %v locks were taken, the program says %d", len(ofTable(d)), counts["mutexes"], s.of(pairs[1]), counts["taken"])
	if s.of(pairs[1]) != float64(counts["taken"]) || s.of(pairs[0]) < float64(counts["taken"]) {
		t.Errorf("%v locks were taken, %v in all, the program says %d", s.of(pairs[1]), s.of(pairs[0]), counts["taken"])
	}
	if len(ofTable(d)) < locks.MaxTaken-10 || all > locks.MaxTaken {
		t.Errorf("%d mutexes of the table are known, %d in all", len(ofTable(d)), all)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestFewLocksAreExact: of as many locks as a thread has room for, each is exact, and known by its name as soon as it was taken.
func TestFewLocksAreExact(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/stripes.c"), "400", "4")
	d := attachTo(t, p.PID)
	want := truths{"lock_acquisitions@/Code/stripes.c/worker": "taken"}
	for i := 0; i < 400; i += 21 {
		want[fmt.Sprintf("lock_acquisitions@/SyncObject/Mutex/table.stripes[%d].lock", i)] = "each"
	}
	got := across(t, d, p, want.keys(t)...)
	want.check(t, got, p.Counts(), 1, 0)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestOverwrittenTables: whatever a target writes into its tables, nobody panics, memory is bounded, and what is told is no less than
// nothing.
func TestOverwrittenTables(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/stripes.c"), "100", "3")
	d := attachTo(t, p.PID)
	var s sums
	pairs := []grid.PairKey{key(t, "lock_acquisitions", "/SyncObject/Mutex/table.lock"), key(t, "lock_wait", "/SyncObject/Mutex/table.lock"), key(t, "lock_wait", "/")}
	enableSoon(t, d, &s, pairs)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 12 {
		d.lockAll()
		seg := d.targets[0].Seg
		for _, slot := range seg.Used(nil) {
			for off := int32(segment.FirstCell); off < int32(seg.BlockSize); off += trampoline.WordSize {
				if rng.IntN(2) == 0 {
					seg.Store(slot, off, rng.Uint64()>>rng.IntN(64))
				}
			}
		}
		d.passes.passHolding(d.held(), d.Now())
		for _, pt := range d.targets[0].Running() {
			if pt.Probes == nil {
				continue
			}
			all, one := pt.Probes.KeysKept()
			if all > probe.MostKeys {
				t.Errorf("%d keys are kept", all)
			}
			if one > 2*trampoline.TableEntries+1 {
				t.Errorf("%d keys are kept of one block", one)
			}
		}
		d.unlockAll()
	}
	for _, k := range pairs[:2] {
		if v := s.of(k); v < 0 {
			t.Errorf("%v: %v", k, v)
		}
	}
	d.Disable(pairs)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestLocksEnd: where memory becomes another lock, the name of the first ends and counts no longer, and the other has its own; what is
// unmapped ends, too.
func TestLocksEnd(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/reuse.c"))
	d := attachTo(t, p.PID)
	at := func() string {
		line := strings.Fields(p.Expect(t, "STAGE", 10*time.Second))
		return line[2]
	}
	heap := heldAddress(t, d, "Mutex", "first.lock")
	var s sums
	first := grid.PairKey{Metric: "lock_acquisitions", Focus: grid.Whole().Refine(grid.SyncObject, "Mutex", "first.lock "+heap)}
	enableSoon(t, d, &s, []grid.PairKey{first})
	time.Sleep(time.Second)
	counted := s.of(first)
	for stage, want := range []struct{ kind, name, gone string }{{"Mutex", "second.guard", "first.lock"}, {"Semaphore", "third.tickets", "second.guard"}} {
		p.Say(t, "next")
		at()
		if now := heldAddress(t, d, want.kind, want.name); now != heap {
			t.Errorf("stage %d: %s is at %s, the memory at %s", stage+1, want.name, now, heap)
		}
		if list := d.Tree().Children(grid.SyncObject, "Mutex"); slices.Contains(list, want.gone+" "+heap) {
			t.Errorf("stage %d: %s is still there: %q", stage+1, want.gone, list)
		}
		if stage == 0 {
			time.Sleep(2 * tickInterval)
			ended := s.of(first)
			time.Sleep(time.Second)
			t.Logf("%v locks of the first, %v until its end was seen, %v a second later", counted, ended, s.of(first))
			if counted == 0 || s.of(first) != ended {
				t.Errorf("what ended counts: %v, then %v", ended, s.of(first))
			}
		}
	}
	d.Disable([]grid.PairKey{first})
	p.Say(t, "next")
	at()
	heldAddress(t, d, "Mutex", "0x")
	for range 5 { // what no blocked thread tells a stopped one does
		enableSoon(t, d, &s, []grid.PairKey{key(t, "procedure_calls", "/Code/reuse.c/nap")})
		d.Disable([]grid.PairKey{key(t, "procedure_calls", "/Code/reuse.c/nap")})
		d.Settle()
	}
	page := heldAddress(t, d, "Mutex", "first.lock")
	if list := d.Tree().Children(grid.SyncObject, "Mutex"); slices.ContainsFunc(list, func(n string) bool { return strings.HasPrefix(n, page) }) {
		t.Errorf("the lock has two names: %q", list)
	}
	p.Say(t, "next")
	for began := time.Now(); slices.Contains(d.Tree().Children(grid.SyncObject, "Mutex"), "first.lock "+page); time.Sleep(tickInterval) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("a lock whose memory was unmapped is still there")
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// heldAddress waits until a lock on the heap is called by a type and field, and returns its address.
func heldAddress(t *testing.T, d *Daemon, kind, field string) string {
	t.Helper()
	for began := time.Now(); time.Since(began) < 15*time.Second; time.Sleep(20 * time.Millisecond) {
		for _, n := range d.Tree().Children(grid.SyncObject, kind) {
			if at, ok := strings.CutPrefix(n, field+" "); ok || field == "0x" && strings.HasPrefix(n, field) {
				return at
			}
		}
	}
	t.Fatalf("no %s is called %s: %q", kind, field, d.Tree().Children(grid.SyncObject, kind))
	return ""
}

// TestHolders: for each mutex that was waited for, the thread that had it is known, and where it was.
func TestHolders(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/mutexes.cc"), "25")
	d := attachTo(t, p.PID)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	want := fmt.Sprintf("thr_%d", p.Counts()["holder"])
	seen, right := 0, 0
	for _, n := range mutexNames[:13] {
		list := d.Holders(grid.Whole().Refine(grid.SyncObject, "Mutex", n))
		if len(list) == 0 {
			continue
		}
		seen++
		t.Logf("%-28s %+v", n, list[0])
		if strings.HasPrefix(list[0].Thread, want) && list[0].Share > 0.5 && strings.HasPrefix(list[0].Function, "mutexes.cc/") {
			right++
		}
	}
	if t.Logf("%d locks were waited for, the right thread is named for %d", seen, right); seen < 6 || right < seen-2 {
		t.Errorf("the holder %s is named for %d of %d locks", want, right, seen)
	}
	for _, f := range []grid.Focus{grid.Whole(), grid.Whole().Refine(grid.SyncObject, "Mutex"), grid.Whole().Refine(grid.SyncObject, "CondVar", "x")} {
		if list := slices.DeleteFunc(d.Holders(f), func(h grid.Holder) bool { return h.Wakes }); len(list) > 0 {
			t.Errorf("%v: %v", f, list)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
