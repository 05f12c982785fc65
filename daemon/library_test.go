package daemon

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/daemon/sampling"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// The metrics of the default library against programs that know the true values.

// truths maps a pair ("METRIC@FOCUS") to the COUNT lines of the program whose sum it must give.
type truths map[string]string

func (tr truths) keys(t *testing.T) (keys []grid.PairKey) {
	t.Helper()
	for _, text := range slices.Sorted(maps.Keys(tr)) {
		k, err := grid.ParsePair(text)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	return keys
}

// check compares; unit is what one of the program's counts is in the metric's unit, share how far off a value may be: 0 for
// exact counts.
func (tr truths) check(t *testing.T, got map[string]float64, counts map[string]uint64, unit, share float64) {
	t.Helper()
	if share > 0 && unit < 1 && busy() {
		const loose = 0.2 // a thread that loses its processor between its own clock and the probe's is right, and so is the probe
		t.Logf("the machine is busy: times may be off by %v of their value", loose)
		share = max(share, loose)
	}
	for _, k := range slices.Sorted(maps.Keys(tr)) {
		var want float64
		for name := range strings.FieldsSeq(tr[k]) {
			if _, ok := counts[name]; !ok {
				t.Errorf("the program says nothing of %s", name)
			}
			want += float64(counts[name]) * unit
		}
		t.Logf("%-72s %14.8g  true %14.8g  off by %+.3f %%", k, got[k], want, 100*(got[k]-want)/max(want, 1e-9))
		if math.Abs(got[k]-want) > share*want {
			t.Errorf("%s: %.9g, the program knows %.9g", k, got[k], want)
		}
	}
}

// busy reports whether more than twice as many threads want to run as there are processors, which one test alone never does.
func busy() bool {
	text, err := os.ReadFile("/proc/loadavg")
	load, perr := strconv.ParseFloat(strings.SplitN(string(text), " ", 2)[0], 64)
	return err == nil && perr == nil && load > 2*float64(numCPU())
}

// across enables pairs, lets the program do its work, and returns what was counted meanwhile.
func across(t *testing.T, d *Daemon, p *testprog.Prog, keys ...grid.PairKey) map[string]float64 {
	t.Helper()
	var s sums
	enableSoon(t, d, &s, keys)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	time.Sleep(3 * tickInterval) // what the kernel keeps is read with the ticks
	d.Disable(keys)
	got := map[string]float64{}
	for _, k := range keys {
		got[k.String()] = s.of(k)
	}
	return got
}

// enableSoon enables pairs; those that a busy machine put off are tried again.
func enableSoon(t *testing.T, d *Daemon, sink grid.Sink, keys []grid.PairKey) {
	t.Helper()
	var deferred grid.ErrDeferred
	for try := 0; len(keys) > 0; try++ {
		var again []grid.PairKey
		for _, r := range d.Enable(keys, sink) {
			switch {
			case r.Err == nil:
			case errors.As(r.Err, &deferred) && try < 50:
				again = append(again, r.Key)
			default:
				t.Fatalf("%s: %v", r.Key, r.Err)
			}
		}
		keys = again
		time.Sleep(time.Duration(len(keys)) * time.Millisecond)
	}
}

// TestLocksAreHeld compares how long locks of each kind were held: taken, tried, nested, taken twice, lent to a condition
// variable, and taken in one function and given back in another.
func TestLocksAreHeld(t *testing.T) {
	locksHeld(t, truths{
		"lock_hold@/":                                                         "plain tried outer lent wrapped again book spun",
		"lock_hold@/SyncObject/Mutex":                                         "plain tried outer lent wrapped again",
		"lock_hold@/SyncObject/RWLock":                                        "book",
		"lock_hold@/SyncObject/SpinLock":                                      "spun",
		"lock_hold@/SyncObject/Mutex/plain_lock":                              "plain",
		"lock_hold@/SyncObject/Mutex/try_lock":                                "tried",
		"lock_hold@/SyncObject/Mutex/busy_lock":                               "",
		"lock_hold@/SyncObject/Mutex/inner_lock":                              "inner",
		"lock_hold@/SyncObject/Mutex/outer_lock":                              "outer",
		"lock_hold@/SyncObject/Mutex/again_lock":                              "again",
		"lock_hold@/SyncObject/Mutex/lent_lock":                               "lent",
		"lock_hold@/SyncObject/RWLock/book_lock":                              "book",
		"lock_hold@/Code/locks.c/take":                                        "wrapped",
		"lock_hold@/Code/locks.c/hold_nested":                                 "outer",
		"lock_hold@/Code/locks.c/pass":                                        "",
		"lock_hold@/Code/locks.c":                                             "plain tried outer lent wrapped again book spun",
		"lock_hold@/Code/locks.c/hold_nested,/SyncObject/Mutex/inner_lock":    "inner",
		"lock_hold@/Code/locks.c/hold_wrapped,/SyncObject/Mutex/wrapped_lock": "wrapped",
		"lock_hold@/Code/locks.c/hold_wrapped,/SyncObject/Mutex/plain_lock":   "",
	})
}

// TestOuterLocksAreHeld compares what one probe for all locks says of how long each of them was held, unless within another one.
func TestOuterLocksAreHeld(t *testing.T) {
	locksHeld(t, truths{
		"outer_lock_hold@/":                                                      "plain tried outer lent wrapped again book spun",
		"outer_lock_hold@/SyncObject/Mutex":                                      "plain tried outer lent wrapped again",
		"outer_lock_hold@/SyncObject/Mutex/plain_lock":                           "plain",
		"outer_lock_hold@/SyncObject/Mutex/busy_lock":                            "",
		"outer_lock_hold@/SyncObject/Mutex/inner_lock":                           "",
		"outer_lock_hold@/SyncObject/Mutex/outer_lock":                           "outer",
		"outer_lock_hold@/SyncObject/Mutex/again_lock":                           "again",
		"outer_lock_hold@/SyncObject/Mutex/lent_lock":                            "lent",
		"outer_lock_hold@/SyncObject/RWLock/book_lock":                           "book",
		"outer_lock_hold@/Code/locks.c/hold_nested,/SyncObject/Mutex/outer_lock": "outer",
		"outer_lock_hold@/Code/locks.c/hold_nested,/SyncObject/Mutex/plain_lock": "",
	})
}

// locksHeld compares times with what testdata/targets/locks.c says of its locks.
func locksHeld(t *testing.T, want truths) {
	t.Helper()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/locks.c"), "60")
	d := attachTo(t, p.PID)
	got := across(t, d, p, want.keys(t)...)
	want.check(t, got, p.Counts(), 1e-9, 0.01)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestAllocations compares counts and bytes of allocations made in every way.
func TestAllocations(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/allocs.cc"), "20000")
	d := attachTo(t, p.PID)
	want := truths{
		"allocations@/": "allocations", "alloc_bytes@/": "bytes",
		"allocations@/Code/allocs.cc/main": "allocations", "alloc_bytes@/Code/allocs.cc/main": "bytes",
		"allocations@/Code/allocs.cc":                        "allocations",
		"allocations@/Code/allocs.cc/objects(unsigned long)": "objects",
		"alloc_bytes@/Code/allocs.cc/again(unsigned long)":   "again_bytes",
	}
	got := across(t, d, p, want.keys(t)...)
	want.check(t, got, p.Counts(), 1, 0)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestAllocationsOfRust compares counts and bytes of Rust programs. One with an allocator of its own is built as one builds to
// find mistakes: rustc since 1.80 or so puts such an allocator into its callers otherwise. One that passes everything on to the
// C library is built both ways, and each allocation counts once.
func TestAllocationsOfRust(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"own": {"-C", "opt-level=0"}, "through C, optimised": {"--cfg", "through_c"}, "through C": {"--cfg", "through_c", "-C", "opt-level=0"}} {
		t.Run(name, func(t *testing.T) {
			p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/allocs.rs", flags...), "2000")
			d := attachTo(t, p.PID)
			round := named(t, d, "round")
			want := truths{"allocations@" + round: "allocations", "alloc_bytes@" + round: "bytes"}
			whole := key(t, "allocations", "/")
			got := across(t, d, p, append(want.keys(t), whole)...)
			want.check(t, got, p.Counts(), 1, 0)
			if beside := got[whole.String()] - float64(p.Counts()["allocations"]); beside < 0 || beside > 100 { // for the lines that it writes
				t.Errorf("%v allocations beside those that the program knows", beside)
			}
			detachClean(t, d, p.PID)
			p.Stop(t)
		})
	}
}

// TestMessages compares counts and bytes of messages over sockets, of all calls and of those on one socket.
func TestMessages(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/messages.c"), "20000")
	d := attachTo(t, p.PID)
	socket := "/IO/Socket/" + waitedFor(t, d, grid.IO, "Socket") // the listener's
	want := truths{
		"msgs@/": "msgs_out msgs_in batched_out batched_in", "msg_bytes_sent@/": "bytes_out", "msg_bytes_recv@/": "bytes_in",
		"msgs@/Code/messages.c/hear": "msgs_in", "msg_bytes_sent@/Code/messages.c/hear": "", "msg_bytes_recv@/Code/messages.c/listener": "bytes_in",
		"msgs@" + socket: "msgs_in file_in_msgs", "msg_bytes_recv@" + socket: "bytes_in file_in", "msg_bytes_sent@" + socket: "",
		"io_bytes@" + socket: "bytes_in file_in",
	}
	var sizes spreads
	enableSoon(t, d, &sizes, []grid.PairKey{key(t, "msg_size", "/")})
	got := across(t, d, p, want.keys(t)...)
	d.Disable([]grid.PairKey{key(t, "msg_size", "/")})
	want.check(t, got, p.Counts(), 1, 0)
	sizesAgree(t, sizes.distribution(key(t, "msg_size", "/")), p)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// sizesAgree compares a distribution of sizes with the program's lines "SIZE <bytes> <how often>", bucket by bucket.
func sizesAgree(t *testing.T, d *grid.Distribution, p *testprog.Prog) {
	t.Helper()
	want := map[int]uint64{}
	sizes := 0
	for _, l := range p.Lines() {
		var size int64
		var n uint64
		if k, _ := fmt.Sscanf(l, "SIZE %d %d", &size, &n); k == 2 {
			want[grid.BucketOf(size)] += n
			sizes++
		}
	}
	t.Logf("%d messages of %d sizes in %d buckets; median %g B, largest %g B", d.Count(), sizes, len(want), d.Quantile(0.5), d.Max())
	for i, n := range d.Counts {
		if n != want[i] {
			t.Errorf("bucket %d of sizes holds %d, want %d", i, n, want[i])
		}
	}
	if len(want) < 10 {
		t.Errorf("only %d buckets of sizes", len(want))
	}
}

// waitedFor waits until the daemon has seen a thread wait for a resource below the elements, and returns its name.
func waitedFor(t *testing.T, d *Daemon, h grid.Hierarchy, kind string) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, name := range d.Tree().Children(h, kind) {
			if d.targets[0].Profile.Waited(h.String() + "/" + kind + "/" + name) {
				return name
			}
		}
	}
	t.Fatalf("nobody was ever seen waiting for something below /%v/%v", h, kind)
	return ""
}

// TestKernelAccounts compares what is read from the kernel with what the kernel tells the program itself: of the thread that
// works exactly, but for the switch with which it goes to rest behind its last look; of the process with what its other thread
// does beside it.
func TestKernelAccounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/account.c"), path, "400")
	d := attachTo(t, p.PID)
	process := d.targets[0].Name
	thread := fmt.Sprintf("/Process/%s/thr_%d", process, p.Counts()["tid"])
	exact := truths{"page_faults_minor@" + thread: "minor", "page_faults_major@" + thread: "major"}
	times := truths{"cpu_user@" + thread: "user_us", "cpu_system@" + thread: "system_us", "cpu_user@/": "user_us", "cpu_system@/": "system_us"}
	loose := truths{"switches_voluntary@" + thread: "voluntary", "switches_forced@" + thread: "forced"}
	least := truths{"switches_voluntary@/": "voluntary", "switches_forced@/": "forced", "page_faults_minor@/": "minor", "page_faults_major@/": "major"}
	got := across(t, d, p, slices.Concat(exact.keys(t), times.keys(t), loose.keys(t), least.keys(t))...)
	counts := p.Counts()
	exact.check(t, got, counts, 1, 0)
	times.check(t, got, counts, 1e-6, 0.02) // steps of 10 ms in some 1,200
	loose.check(t, got, counts, 1, 3/float64(counts["voluntary"]))
	for k, name := range least {
		if have, want := got[k], float64(counts[name]); have < want || have > 2*want+200 {
			t.Errorf("%s: %v, the thread that works alone had %v", k, have, want)
		}
	}
	if counts["major"] == 0 {
		t.Error("no major faults: the file lies in memory")
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestWaitsBelowCPlusPlus compares how long a thread waited in C++'s own synchronisation and in a futex of the program. What
// the library does before it asks the kernel (it yields the processor some times, which takes long on a busy machine) is in the
// program's figures only.
func TestWaitsBelowCPlusPlus(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/waits.cc", "-std=c++20", "-Wno-volatile"), "30")
	d := attachTo(t, p.PID)
	exact := truths{
		"sync_wait_inclusive@/Code/waits.cc/wait_own()": "own", "sync_wait_inclusive@/Code/waits.cc/wait_condition()": "condition",
		"sync_wait_inclusive@/Code/waits.cc/wait_mutex()": "mutex", "sync_wait@/Code/waits.cc/wait_own()": "own",
		"sync_wait_inclusive@/SyncObject/Futex/futex_word": "own", "sync_wait_inclusive@/SyncObject/CondVar": "condition",
	}
	yields := truths{
		"sync_wait_inclusive@/Code/waits.cc/wait_atomic()": "atomic", "sync_wait_inclusive@/Code/waits.cc/wait_semaphore()": "semaphore",
		"sync_wait_inclusive@/Code/waits.cc/wait_latch()": "latch", "sync_wait_inclusive@/SyncObject/Futex": "own atomic semaphore latch",
		"sync_wait_inclusive@/":                      "own atomic semaphore latch condition mutex",
		"sync_wait_inclusive@/SyncObject/Futex/word": "atomic", "sync_wait_inclusive@/SyncObject/Futex/tickets": "semaphore",
		"object_wait@/SyncObject/Futex/word": "atomic", "object_wait@/SyncObject/Futex/tickets": "semaphore",
	}
	calls := truths{"sync_ops@/Code/waits.cc/wait_own()": "own_calls", "sync_ops@/SyncObject/Futex/futex_word": "own_calls"}
	got := across(t, d, p, slices.Concat(exact.keys(t), yields.keys(t), calls.keys(t))...)
	exact.check(t, got, p.Counts(), 1e-9, 0.01)
	yields.check(t, got, p.Counts(), 1e-9, 0.1)
	calls.check(t, got, p.Counts(), 1, 0)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestWaitsOfRust compares how long a thread waited in the standard library of Rust, which asks the kernel's futex.
func TestWaitsOfRust(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/waits.rs"), "30")
	d := attachTo(t, p.PID)
	p.Say(t, "warm") // a thread that is woken rarely counts as parked
	p.Expect(t, "WARM", time.Minute)
	yields := truths{"sync_wait_inclusive@/": "mutex condition book channel parked", "sync_wait_inclusive@/SyncObject/Futex": "mutex condition book channel parked"}
	exact := truths{
		"sync_wait_inclusive@" + named(t, d, "wait_mutex"): "mutex", "sync_wait_inclusive@" + named(t, d, "wait_condition"): "condition",
		"sync_wait_inclusive@" + named(t, d, "wait_book"): "book", "sync_wait_inclusive@" + named(t, d, "wait_parked"): "parked",
	}
	for object, name := range map[string]string{"Shared.mutex 0x": "mutex", "Shared.book 0x": "book"} {
		exact["sync_wait_inclusive@"+objectCalled(t, d, p, "Futex", object)] = name
		exact["object_wait@"+objectCalled(t, d, p, "Futex", object)] = name
	}
	got := across(t, d, p, slices.Concat(exact.keys(t), yields.keys(t))...)
	exact.check(t, got, p.Counts(), 1e-9, 0.01)
	yields.check(t, got, p.Counts(), 1e-9, 0.1) // a channel yields the processor before it waits
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// objectCalled is the focus of the only object of a type whose name begins with the word. The program waits for its objects again until it has been seen.
func objectCalled(t *testing.T, d *Daemon, p *testprog.Prog, kind, word string) string {
	t.Helper()
	var all, list []string
	for range 12 {
		all = d.Tree().Children(grid.SyncObject, kind)
		list = slices.DeleteFunc(slices.Clone(all), func(n string) bool { return !strings.HasPrefix(n, word) })
		if len(list) == 1 {
			return grid.Whole().Refine(grid.SyncObject, kind, list[0]).String()
		}
		p.Say(t, "warm")
		p.Expect(t, "WARM", time.Minute)
	}
	t.Fatalf("%d objects of type %s are called %q: %q", len(list), kind, word, all)
	return ""
}

// TestWaitsOfC11 compares how long a thread waited in the functions of C11, at them and at the objects.
func TestWaitsOfC11(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/c11.c", "-std=gnu11"), "30")
	d := attachTo(t, p.PID)
	want := truths{
		"sync_wait@/Code/c11.c/lock_guard": "mutex", "sync_wait@/Code/c11.c/wait_thread": "thread",
		"sync_wait_inclusive@/Code/c11.c/wait_mutex": "mutex", "sync_wait_inclusive@/Code/c11.c/wait_condition": "condition",
		"object_wait@/SyncObject/CondVar/changed": "condition", "object_wait@/Code/c11.c/wait_mutex,/SyncObject/Mutex/guard": "mutex",
		"sync_wait_inclusive@/Code/c11.c/wait_thread": "thread", "sync_wait@/SyncObject/CondVar/changed": "condition",
		"sync_wait@/Code/c11.c/lock_guard,/SyncObject/Mutex/guard": "mutex", "sync_wait@/Code/c11.c/waiter,/SyncObject/Mutex": "",
	}
	ops := truths{"sync_ops@/SyncObject/Mutex/guard": "locks"}
	got := across(t, d, p, slices.Concat(want.keys(t), ops.keys(t))...)
	want.check(t, got, p.Counts(), 1e-9, 0.01)
	ops.check(t, got, p.Counts(), 1, 0)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestWaitsInTheCLibrary compares how long a thread waited for locks that the C library has for itself, at functions and at the objects, which are
// called by the streams that have them.
func TestWaitsInTheCLibrary(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/streams.c"), "30")
	d := attachTo(t, p.PID)
	warmUntil(t, d, p, libc.Library, "stdio stream", "stdio stream 2", "stdio stream null", "stdio stream stderr")
	at := grid.Whole().Refine(grid.SyncObject, libc.Library).String()
	want := truths{
		"sync_wait_inclusive@/": "file standard memory cookie", "sync_wait_inclusive@" + at: "file standard memory cookie",
		"sync_wait_inclusive@/Code/streams.c/wait_file": "file", "sync_wait_inclusive@/Code/streams.c/wait_standard": "standard",
		"sync_wait_inclusive@/Code/streams.c/wait_memory": "memory", "sync_wait_inclusive@/Code/streams.c/wait_cookie": "cookie",
		"sync_wait_inclusive@" + at + "/stdio stream null": "file", "object_wait@" + at + "/stdio stream null": "file",
		"sync_wait@" + at + "/stdio stream stderr": "standard", "object_wait@" + at + "/stdio stream stderr": "standard",
		"object_wait@" + at + "/stdio stream,/Code/streams.c/wait_file": "", "sync_wait_inclusive@/SyncObject/CondVar": "",
	}
	ops := truths{"sync_ops@" + at: "calls"}
	got := across(t, d, p, slices.Concat(want.keys(t), ops.keys(t))...)
	want.check(t, got, p.Counts(), 1e-9, 0.02)
	ops.check(t, got, p.Counts(), 1, 0)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// warmUntil lets a program wait until those objects of a type have been seen, and no others.
func warmUntil(t *testing.T, d *Daemon, p *testprog.Prog, kind string, names ...string) {
	t.Helper()
	var seen []string
	for range 12 {
		p.Say(t, "warm")
		p.Expect(t, "WARM", time.Minute)
		seen = d.Tree().Children(grid.SyncObject, kind)
		slices.Sort(seen)
		if slices.Equal(seen, names) {
			return
		}
	}
	t.Fatalf("objects of type %s are called %q, want %q", kind, seen, names)
}

// named is the focus of the function whose name ends with "::" and the word.
func named(t *testing.T, d *Daemon, word string) string {
	t.Helper()
	keys := functionsOf(d, "procedure_calls", func(f *program.Function) bool { return strings.HasSuffix(f.Fn.Name, "::"+word) })
	if len(keys) != 1 {
		t.Fatalf("%d functions are called %s", len(keys), word)
	}
	return keys[0].Focus.String()
}

// TestOwnFigures compares what culprit says of itself as metrics with what it knows otherwise.
func TestOwnFigures(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/cpu.c"))
	q := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/sleeper.c"))
	d := attachTo(t, p.PID, q.PID)
	load := []grid.PairKey{key(t, "exec_time_inclusive", "/Code/cpu.c/distance"), key(t, "procedure_calls", "/Code/cpu.c/nearest")}
	prices, errs := d.Price(load)
	d.Settle()
	last := &lastValues{}
	own := []grid.PairKey{key(t, "predicted_cost", "/"), key(t, "observed_cost", "/"), key(t, "sampling_rate", "/"), key(t, "probes", "/"),
		key(t, "active_processes", "/"), key(t, "active_processes", "/Process/"+d.targets[1].Name), key(t, "dropped", "/")}
	enableSoon(t, d, last, append(load, own...))
	time.Sleep(2 * time.Second)
	predicted := prices[0].Fraction + prices[1].Fraction
	t.Logf("predicted %.5f (asked before: %.5f), observed %.5f; %v readings a second; %v probes; %v processes", last.of(own[0]), predicted, last.of(own[1]),
		last.of(own[2]), last.of(own[3]), last.of(own[4]))
	if errs[0] != nil || errs[1] != nil || predicted <= 0 {
		t.Fatalf("prices %v, %v", prices, errs)
	}
	near(t, "predicted_cost", last.of(own[0]), predicted, predicted/4) // the share of the time that is active may have changed
	near(t, "sampling_rate", last.of(own[2]), 1/tickInterval.Seconds(), 1)
	near(t, "probes", last.of(own[3]), float64(d.Probes().Left), 0)
	near(t, "processes", last.of(own[4]), 2, 0)
	near(t, "one process", last.of(own[5]), 1, 0)
	near(t, "dropped", last.sum(own[6]), float64(lostSamples(d)), 0)
	q.Kill()
	time.Sleep(3 * tickInterval)
	near(t, "processes that are left", last.of(own[4]), 1, 0)
	d.Disable(append(load, own...))
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestDroppedSamples has nobody read the stack samples of a program that computes until there is no room for more.
func TestDroppedSamples(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/cpu.c"))
	d := attachTo(t, p.PID)
	if d.targets[0].Profile.Cannot(sampling.Running) != nil {
		require.Skip(t, "needs the right to sample stacks (CAP_PERFMON)")
	}
	last := &lastValues{}
	k := key(t, "dropped", "/")
	enableSoon(t, d, last, []grid.PairKey{k})
	for began := time.Now(); lostSamples(d) == 0 && time.Since(began) < 20*time.Second; {
		d.lockAll()
		d.targets[0].Profile.Pace(0, false) // where each thread has an event, let it sample
		time.Sleep(2 * time.Second)
		d.unlockAll()
		time.Sleep(2 * tickInterval)
	}
	time.Sleep(2 * tickInterval)
	t.Logf("%v samples dropped, %d lost", last.sum(k), lostSamples(d))
	if lostSamples(d) == 0 {
		t.Fatal("nothing was lost")
	}
	near(t, "dropped", last.sum(k), float64(lostSamples(d)), 0)
	d.Disable([]grid.PairKey{k})
	detachClean(t, d, p.PID)
	p.Stop(t)
}

func lostSamples(d *Daemon) (n uint64) {
	d.lockAll()
	defer d.unlockAll()
	if d.looks.rings != nil {
		n = d.looks.rings.Lost()
	}
	return n
}

// lastValues keeps the last value of each pair, and their sum.
type lastValues struct {
	sums
	mu   sync.Mutex
	last map[grid.PairKey]float64
}

func (l *lastValues) Sample(k grid.PairKey, start, end, v float64) {
	l.sums.Sample(k, start, end, v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[grid.PairKey]float64{}
	}
	l.last[k] = v
}

func (l *lastValues) of(k grid.PairKey) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[k]
}

func (l *lastValues) sum(k grid.PairKey) float64 { return l.sums.of(k) }
