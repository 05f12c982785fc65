package daemon

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
	"culprit/daemon/sampling"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
	"culprit/pcl/check"
)

// lookAt attaches with the sample tier only.
func lookAt(t testing.TB, pids ...int) *Daemon {
	t.Helper()
	d, err := Attach(context.Background(), Options{Library: library(t), Backend: grid.BackendSample, Log: func(s string) { t.Log(s) }}, pids...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	return d
}

// TestSamplesTellShares compares estimates with what a program knows of itself: processor time by function, and waiting by function and
// lock. Each must lie within four of its own standard errors, and three percent of the whole, for what the program does beside.
func TestSamplesTellShares(t *testing.T) {
	length := rounds(2000, 30000)
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"), strconv.Itoa(length))
	d := lookAt(t, p.PID)
	d.Known()
	time.Sleep(2 * tickInterval) // its threads are known to be alive
	want := map[string]string{
		"cpu_inclusive@/Code/shares.c/half":                                    "half",
		"cpu_inclusive@/Code/shares.c/third":                                   "third",
		"cpu_inclusive@/Code/shares.c/fifth":                                   "fifth",
		"cpu@/Code/shares.c/burn":                                              "half third fifth",
		"cpu@/Code/shares.c/half":                                              "",
		"cpu_inclusive@/Code/shares.c":                                         "half third fifth",
		"exec_time_inclusive@/Code/shares.c/wait_for_mutex":                    "mutex",
		"exec_time_inclusive@/Code/shares.c/wait_for_mail":                     "pipe",
		"exec_time_inclusive@/Code/shares.c/visit":                             "mutex sem pipe",
		"exec_time@/Code/shares.c/wait_for_mail":                               "",
		"sync_wait@/Code/shares.c/wait_for_mutex":                              "mutex",
		"sync_wait@/Code/shares.c/visit":                                       "",
		"sync_wait_inclusive@/Code/shares.c/visit":                             "mutex sem",
		"sync_wait_inclusive@/Code/shares.c/wait_for_ticket":                   "sem",
		"sync_wait_inclusive@/Code/shares.c/visit,/SyncObject/Mutex/gate_lock": "mutex",
		"sync_wait_inclusive@/SyncObject/Semaphore":                            "sem",
		"lock_wait@/SyncObject/Mutex/gate_lock":                                "mutex",
		"lock_wait@/Code/shares.c/visit,/SyncObject/Mutex/gate_lock":           "mutex",
		"lock_wait@/Code/shares.c/visit":                                       "mutex",
		"object_wait@/SyncObject/Semaphore":                                    "sem",
		"object_wait@/SyncObject/Mutex/gate_lock":                              "mutex",
		"io_wait_inclusive@/Code/shares.c/visit":                               "pipe",
		"io_wait@/Code/shares.c/wait_for_mail":                                 "pipe",
	}
	keys := truths(want).keys(t)
	var s sums
	for _, r := range d.Enable(keys, &s) {
		if r.Err != nil || r.Tier != grid.TierSample {
			t.Fatalf("%s: tier %q, %v", r.Key, r.Tier, r.Err)
		}
	}
	begin := time.Now()
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	time.Sleep(3 * tickInterval)
	span := time.Since(begin).Seconds()
	counts := p.Counts()
	var whole float64
	for _, n := range counts {
		whole = max(whole, float64(n)/1e9)
	}
	for i, k := range keys {
		se, ok := d.Uncertainty(keys[i])
		var truth float64
		for _, name := range strings.Fields(want[k.String()]) {
			truth += float64(counts[name]) / 1e9
		}
		off := s.of(k) - truth
		t.Logf("%-74s %7.3f s +- %.3f, true %7.3f, off by %+.3f (%+.1f %%)", k, s.of(k), se*span, truth, off, 100*off/max(truth, 1e-9))
		if !ok {
			t.Errorf("%s: no uncertainty is known", k)
		}
		if math.Abs(off) > 4*se*span+0.03*whole {
			t.Errorf("%s: %.3f s, the program knows %.3f", k, s.of(k), truth)
		}
	}
	if d.targets[0].Stops.Count() != 0 {
		t.Errorf("the target was stopped %d times", d.targets[0].Stops.Count())
	}
	d.Disable(keys)
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// A witness notes what of a process must not change while it is only looked at: its mappings, every byte of its text, and who traces it.
type witness struct {
	pid    int
	maps   string
	text   [sha256.Size]byte
	tracer string
}

func witnessOf(t *testing.T, pid int) witness {
	t.Helper()
	w := witness{pid: pid, tracer: tracerOf(t, pid)}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	h := sha256.New()
	for line := range strings.Lines(string(maps)) {
		var lo, hi int64
		var perms string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &lo, &hi, &perms); err != nil || strings.Contains(line, "[v") {
			continue
		}
		if w.maps += line; perms[2] == 'x' {
			if _, err := io.Copy(h, io.NewSectionReader(mem, lo, hi-lo)); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.Sum(w.text[:0])
	return w
}

func tracerOf(t *testing.T, pid int) string {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "TracerPid:\t")
	tracer, _, _ := strings.Cut(rest, "\n")
	return tracer
}

// unchanged fails the test if the process is not as it was.
func (w witness) unchanged(t *testing.T, when string) {
	t.Helper()
	if now := witnessOf(t, w.pid); now != w {
		t.Errorf("%s: the process is not as it was: tracer %s, was %s; text the same: %v; mappings:\n%sthey were:\n%s", when, now.tracer, w.tracer,
			now.text == w.text, now.maps, w.maps)
	}
}

// TestLookingTouchesNothing: with the sample tier no thread is ever traced or stopped, and no byte or mapping changes; counts are
// refused with what would help.
func TestLookingTouchesNothing(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"))
	p.Say(t, "go")
	p.MustBeat(t, 5*time.Second)
	before := witnessOf(t, p.PID)
	stop, traced := make(chan struct{}), make(chan int)
	go func() { // the tracer is looked at ten thousand times a second
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				traced <- n
				return
			default:
			}
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID))
			if err == nil && !strings.Contains(string(status), "TracerPid:\t0\n") {
				t.Error("the target was traced")
			}
		}
	}()
	d := lookAt(t, p.PID)
	var s sums
	calls := nameOf(t, d, "procedure_calls", "half")
	keys := []grid.PairKey{nameOf(t, d, "cpu_inclusive", "half"), key(t, "sync_wait_inclusive", "/"), key(t, "cpu", "/")}
	d.mustEnable(t, &s, keys...)
	prices, errs := d.Price(append(keys, calls))
	for i := range keys {
		if errs[i] != nil || prices[i].Fraction != 0 {
			t.Errorf("%s: price %+v, %v", keys[i], prices[i], errs[i])
		}
	}
	r := d.Enable([]grid.PairKey{calls, key(t, "lock_hold", "/")}, &s)
	for i, want := range []string{"procedure_calls cannot be counted by stack samples; it needs probes (--backend probe)", "lock_hold cannot be told by stack samples"} {
		if r[i].Err == nil || !strings.HasPrefix(r[i].Err.Error(), want) {
			t.Errorf("%s: %v, want %q", r[i].Key, r[i].Err, want)
		}
	}
	time.Sleep(500 * time.Millisecond)
	before.unchanged(t, "while it was being checked")
	d.Disable(keys)
	if clean, err := d.Detach(); !clean {
		t.Errorf("detach: %v", err)
	}
	close(stop)
	looks := <-traced
	before.unchanged(t, "afterwards")
	detachClean(t, d, p.PID) // its check traces
	t.Logf("not traced at %d looks; cpu of half %.3f s of %.3f s, tier %s", looks, s.of(keys[0]), s.of(keys[2]), grid.TierSample)
	if d.Overhead().Pauses.Count != 0 || s.of(keys[0]) < 0.05 || s.of(keys[1]) < 0.05 {
		t.Errorf("%d pauses; %v", d.Overhead().Pauses.Count, s.m)
	}
	p.Stop(t)
}

// traceBy has strace trace a process until the test ends.
func traceBy(t *testing.T, strace string, pid int) {
	t.Helper()
	tracer := exec.Command(strace, "-qq", "-f", "-o", os.DevNull, "-e", "trace=none", "-p", fmt.Sprint(pid))
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tracer.Process.Signal(os.Interrupt); tracer.Wait() })
	for deadline := time.Now().Add(10 * time.Second); tracerOf(t, pid) == "0"; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("strace does not trace it")
		}
	}
}

// TestWhatCannotBePatched: each of these is an error of the probe backend and falls to samples with auto; the answer says why.
func TestWhatCannotBePatched(t *testing.T) {
	t.Parallel()
	strace := require.Tool(t, "strace")
	for _, c := range []struct {
		name, why string
		start     func(t *testing.T) *testprog.Prog
	}{
		{"traced", "traced by", func(t *testing.T) *testprog.Prog {
			p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"))
			traceBy(t, strace, p.PID)
			return p
		}},
		{"no room", "address space", func(t *testing.T) *testprog.Prog {
			p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"))
			limit := unix.Rlimit{Cur: 1, Max: 1}
			if err := unix.Prlimit(p.PID, unix.RLIMIT_AS, &limit, nil); err != nil {
				t.Fatal(err)
			}
			return p
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.start(t)
			if d, err := Attach(context.Background(), Options{Library: library(t)}, p.PID); err == nil {
				d.Detach()
				t.Fatal("the probe backend attached")
			} else {
				t.Logf("probe: %v", err)
			}
			before := witnessOf(t, p.PID)
			d, err := Attach(context.Background(), Options{Library: library(t), Backend: grid.BackendAuto, Log: func(s string) { t.Log(s) }}, p.PID)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Detach()
			info := d.Targets()[0]
			if info.Backend != grid.BackendSample || !strings.Contains(info.Why, c.why) {
				t.Errorf("backend %v, since %q", info.Backend, info.Why)
			}
			before.unchanged(t, "when it was attached to")
			if c.name != "traced" {
				return // it cannot make threads any more
			}
			var s sums
			k := nameOf(t, d, "cpu_inclusive", "compute")
			d.mustEnable(t, &s, k)
			p.Say(t, "go")
			time.Sleep(700 * time.Millisecond)
			d.Disable([]grid.PairKey{k})
			if v := s.of(k); v < 0.1 {
				t.Errorf("compute used %.3f s", v)
			}
			p.Stop(t)
		})
	}
	if _, err := Attach(context.Background(), Options{Library: library(t), Backend: grid.BackendAuto}, 1<<22-7); !errors.Is(err, process.ErrNotFound) {
		t.Errorf("a process that does not exist: %v", err)
	}
}

// TestWithoutTheRightToTrace: where memory may not be read (as of a handle that is closed), processor time is still told and waiting is
// refused, with what would help.
func TestWithoutTheRightToTrace(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"))
	d := lookAt(t, p.PID)
	cpu, wait := nameOf(t, d, "cpu_inclusive", "half"), nameOf(t, d, "sync_wait_inclusive", "visit")
	tg := d.targets[0]
	d.lockAll() // looks make functions known
	for _, k := range []grid.PairKey{cpu, wait} {
		if _, _, err := tg.Sampled().Compile(k); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
	d.unlockAll()
	d.Detach()
	if _, _, err := tg.Sampled().Compile(cpu); err != nil {
		t.Errorf("%s: %v", cpu, err)
	}
	var denied grid.ErrNotPermitted
	if _, _, err := tg.Sampled().Compile(wait); !errors.As(err, &denied) || !strings.Contains(err.Error(), "sudo culprit attach") {
		t.Errorf("%s: %v", wait, err)
	}
	d.common.Sampler = func(int, int) (sampling.Sampler, error) { // as on a system without perf
		return nil, &kernel.NotPermitted{What: "sampling", Remedy: "sudo sysctl something", Err: unix.EACCES}
	}
	tg.BeginProfile()
	if _, _, err := tg.Sampled().Compile(cpu); !errors.As(err, &denied) || !strings.Contains(err.Error(), "sudo sysctl something") {
		t.Errorf("%s: %v", cpu, err)
	}
	if _, _, err := tg.Sampled().Compile(key(t, "cpu", "/")); err != nil {
		t.Errorf("what the kernel accounts: %v", err)
	}
	p.Stop(t)
}

// TestManyThreadsAreSampled: no time is lost where there are more threads than can be looked at all the time.
func TestManyThreadsAreSampled(t *testing.T) {
	const threads = 400
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/threads.c"), strconv.Itoa(threads), "100")
	d := lookAt(t, p.PID)
	worker := nameOf(t, d, "exec_time_inclusive", "worker")
	unseen := func() int {
		d.lockAll()
		defer d.unlockAll()
		return 1 + threads - d.targets[0].Sampled().Known() // one is the first, which waits for them
	}
	for deadline := time.Now().Add(20 * time.Second); unseen() > threads/200; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d threads were not looked at within 20 s", unseen())
		}
	}
	var s sums
	d.mustEnable(t, &s, worker)
	time.Sleep(time.Duration(rounds(700, 10000)) * time.Millisecond)
	d.lockAll()
	span := -d.pairs[worker].since
	d.unlockAll()
	d.Disable([]grid.PairKey{worker})
	span += d.Now()
	alive := s.of(worker) / span
	t.Logf("%.1f s/s in the function that %d threads began with; culprit used %.1f %% of a processor", alive, threads, 100*d.Overhead().DaemonCPU)
	if math.Abs(alive-threads) > 0.03*threads {
		t.Errorf("%.1f of %d", alive, threads)
	}
	p.Stop(t)
}

// TestSamplesOfPartsOfAProgram: a thread, and an item of a hierarchy that a text defines, are told by samples as functions are; the same
// text serves a metric of the user's own.
func TestSamplesOfPartsOfAProgram(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"))
	lib, problems, err := check.Load(check.Options{Texts: []string{`
		hierarchy Part { item "work" is { "/Code/shares.c/half", "/Code/shares.c/third" }; item "doors" is { "/Code/shares.c/visit" }; }
		metric visiting { name "visiting"; units "s/s"; unitsType normalized; aggregateOperator sum; style EventCounter;
			base is wallTimer { foreach f in $procedures if (f.name == "visit") {
				append preInsn f.entry (* startWallTimer(visiting); *) prepend preInsn f.return (* stopWallTimer(visiting); *) } } }`}})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	d, err := Attach(context.Background(), Options{Library: lib, Backend: grid.BackendSample, Log: func(s string) { t.Log(s) }}, p.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Detach()
	d.Known()
	p.Say(t, "go")
	time.Sleep(450 * time.Millisecond) // threads are there, and were seen
	process := d.targets[0].Name
	threads := map[string]grid.Focus{}
	for _, name := range d.session.Tree.Children(grid.Process, process) {
		threads[d.session.Tree.Label(grid.Process, process, name)] = grid.Whole().Refine(grid.Process, process, name)
	}
	if len(threads) != 4 {
		t.Fatalf("threads began with %v", threads)
	}
	at := func(metric string, f grid.Focus, code ...string) grid.PairKey {
		return grid.PairKey{Metric: metric, Focus: f.Refine(grid.Code, code...)}
	}
	half := []string{"shares.c", "half"}
	all, own, other := at("cpu_inclusive", grid.Whole(), half...), at("cpu_inclusive", threads["computer"], half...), at("cpu_inclusive", threads["visitor"], half...)
	third := at("cpu_inclusive", grid.Whole(), "shares.c", "third")
	work, doors := grid.PairKey{Metric: "cpu_inclusive", Focus: grid.Whole().WithItem("Part", "work")}, grid.PairKey{Metric: "exec_time_inclusive", Focus: grid.Whole().WithItem("Part", "doors")}
	visiting := key(t, "visiting", "/")
	var s sums
	d.mustEnable(t, &s, all, own, other, third, work, doors, visiting)
	time.Sleep(time.Duration(rounds(500, 10_000)) * time.Millisecond)
	d.Disable([]grid.PairKey{all, own, other, third, work, doors, visiting})
	t.Logf("half %.3f s, on its own thread %.3f, on another %.3f; half and third %.3f, as an item %.3f; visit %.3f, as an item %.3f", s.of(all), s.of(own),
		s.of(other), s.of(all)+s.of(third), s.of(work), s.of(visiting), s.of(doors))
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
	if s.of(all) < 0.02 || !near(s.of(all), s.of(own)) || s.of(other) != 0 || !near(s.of(all)+s.of(third), s.of(work)) {
		t.Error("the parts do not fit")
	}
	if s.of(doors) < 0.4 || !near(s.of(doors), s.of(visiting)) {
		t.Error("visits do not fit")
	}
	p.Stop(t)
}

// TestProbesAndSamplesTogether: of two processes that are measured at once one is traced by another program. A pair over both is of the
// sample tier, and is the sum of what each does.
func TestProbesAndSamplesTogether(t *testing.T) {
	strace := require.Tool(t, "strace")
	bin := testprog.Build(t, "testdata/targets/shares.c")
	free, traced := testprog.StartTarget(t, bin), testprog.StartTarget(t, bin)
	free.Say(t, "go")
	traced.Say(t, "go")
	traced.MustBeat(t, 5*time.Second)
	free.MustBeat(t, 5*time.Second)
	traceBy(t, strace, traced.PID)
	d, err := Attach(context.Background(), Options{Library: library(t), Backend: grid.BackendAuto, Log: func(s string) { t.Log(s) }}, free.PID, traced.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Detach()
	both := key(t, "exec_time_inclusive", "/Code/shares.c/visit")
	one := both
	one.Focus = one.Focus.Refine(grid.Process, d.targets[0].Name)
	var s sums
	for _, k := range []grid.PairKey{key(t, "lock_wait", "/SyncObject/Mutex/no_lock"), key(t, "sync_wait", "/SyncObject/Mutex/no_lock")} {
		if r := d.Enable([]grid.PairKey{k}, &s)[0]; r.Err == nil {
			t.Errorf("%s is measured", k)
		}
	}
	lock := key(t, "lock_wait", "/SyncObject/Mutex/gate_lock") // by a table where there are probes, by samples where there are none
	oneLock := grid.PairKey{Metric: lock.Metric, Focus: lock.Focus.Refine(grid.Process, d.targets[0].Name)}
	keys := []grid.PairKey{both, one, lock, oneLock}
	results := d.Enable(keys, &s)
	for i, tier := range []grid.Tier{grid.TierSample, grid.TierProbe, grid.TierSample, grid.TierProbe} {
		if r := results[i]; r.Err != nil || r.Tier != tier {
			t.Fatalf("%+v", r)
		}
	}
	time.Sleep(time.Duration(rounds(500, 10_000)) * time.Millisecond)
	d.Disable(keys)
	span := d.Now() - results[0].Since
	t.Logf("in visit: %.3f s in both processes, %.3f in the one with probes, of %.3f s; for the lock %.3f and %.3f", s.of(both), s.of(one), span, s.of(lock), s.of(oneLock))
	if v, mine := s.of(lock), s.of(oneLock); mine < 0.2*span || v < mine+0.15*span || v > mine+span {
		t.Errorf("for the lock %.3f s in both, %.3f in the one with probes", v, mine)
	}
	if v := s.of(both) / span; v < 1.85 || v > 2.1 {
		t.Errorf("two threads were there for %.3f of the time", v)
	}
	if v := s.of(one) / span; v < 0.9 || v > 1.1 {
		t.Errorf("one thread was there for %.3f of the time", v)
	}
	if d.targets[1].Stops.Count() != 0 {
		t.Error("the traced process was stopped")
	}
	if clean, err := d.Detach(); !clean {
		t.Error(err)
	}
	free.Stop(t)
	traced.Stop(t)
}

// TestSamplesSeeFutexWaits: what C++20 and Rust wait in asks the kernel's futex by its number. The argument that says so is gone from the
// stack, and known from the system call. Rust's library keeps frame pointers, which of a blocked thread nobody knows: its callers are
// found by where its functions were called.
func TestSamplesSeeFutexWaits(t *testing.T) {
	for _, c := range []struct {
		source, waits string
		functions     map[string]string
		rounds        int
		flags         []string
	}{
		{"testdata/targets/waits.cc", "own condition mutex atomic semaphore latch", nil, rounds(15, 300), []string{"-std=c++20", "-Wno-volatile"}},
		{"testdata/targets/waits.rs", "mutex condition book channel parked", map[string]string{"wait_mutex": "mutex", "wait_book": "book"}, rounds(40, 400), nil},
	} {
		p := testprog.StartTarget(t, testprog.Build(t, c.source, c.flags...), strconv.Itoa(c.rounds))
		d := lookAt(t, p.PID)
		time.Sleep(2 * tickInterval)
		want := map[grid.PairKey]string{key(t, "sync_wait_inclusive", "/"): c.waits}
		for function, name := range c.functions {
			want[key(t, "sync_wait_inclusive", named(t, d, function))] = name
		}
		keys := slices.Collect(maps.Keys(want))
		var s sums
		d.mustEnable(t, &s, keys...)
		begin := time.Now()
		p.Say(t, "go")
		p.Expect(t, "DONE", time.Minute)
		span, errs := time.Since(begin).Seconds(), map[grid.PairKey]float64{}
		for _, k := range keys {
			errs[k], _ = d.Uncertainty(k)
		}
		d.Disable(keys)
		for _, k := range keys {
			var truth float64
			for name := range strings.FieldsSeq(want[k]) {
				truth += float64(p.Counts()[name]) / 1e9
			}
			t.Logf("%s, %s: %.3f s +- %.3f, the program knows %.3f, of %.3f s", c.source, k, s.of(k), errs[k]*span, truth, span)
			// A thread that was woken rarely so far counts as idle until the next pass or two.
			if truth == 0 || s.of(k) > truth+4*errs[k]*span+0.05*span || s.of(k) < truth-4*errs[k]*span-2*tickInterval.Seconds()*truth/span {
				t.Errorf("%s: %.3f s, the program knows %.3f", k, s.of(k), truth)
			}
		}
		p.Stop(t)
	}
}

// TestHaltedIsNotWaiting: a process that was stopped by a signal, as by a debugger, is not found to wait for its locks.
func TestHaltedIsNotWaiting(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/mutex.c"))
	d := lookAt(t, p.PID)
	p.Say(t, "go")
	p.MustBeat(t, 5*time.Second)
	time.Sleep(tickInterval)
	p.Signal(t, syscall.SIGSTOP)
	time.Sleep(2 * tickInterval)
	var s sums
	wait, there := key(t, "sync_wait_inclusive", "/"), key(t, "exec_time", "/")
	d.mustEnable(t, &s, wait, there)
	time.Sleep(2 * tickInterval)
	d.Disable([]grid.PairKey{wait, there})
	halted := s.of(wait)
	p.Signal(t, syscall.SIGCONT)
	time.Sleep(2 * tickInterval)
	d.mustEnable(t, &s, wait, there)
	time.Sleep(2 * tickInterval)
	d.Disable([]grid.PairKey{wait, there})
	t.Logf("waiting while it was stopped: %.3f s, afterwards %.3f s", halted, s.of(wait)-halted)
	if halted > 0.05 || s.of(wait)-halted < 0.1 {
		t.Error("a stopped thread waits for whoever has stopped it")
	}
	p.Stop(t)
}
