package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/daemon/stops"
	"culprit/grid"
	"culprit/internal/testprog"
)

// TestAThousandThreads measures a program of many threads and says how long it stood still.
func TestAThousandThreads(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/threads.c"), "1000", "100")
	d := attachTo(t, p.PID)
	var s sums
	sleeps := functionsOf(d, "procedure_calls", func(f *program.Function) bool { return libc.IsC(f.Obj.Name) && f.Fn.Name == "clock_nanosleep" })
	keys := []grid.PairKey{sleeps[0], nameOf(t, d, "exec_time_inclusive", "little_work"), nameOf(t, d, "cpu_inclusive", "little_work"),
		nameOf(t, d, "exec_time_inclusive", "worker"), nameOf(t, d, "exec_time", "worker"), nameOf(t, d, "exec_time_inclusive", "main"),
		key(t, "sync_wait_inclusive", "/"), key(t, "io_wait_inclusive", "/"), nameOf(t, d, "cpu", "worker"), nameOf(t, d, "procedure_calls", "worker")}
	d.mustEnable(t, &s, keys...)
	time.Sleep(time.Second)
	d.Disable(keys)
	if calls := s.of(keys[0]); calls < 3000 || calls > 30000 {
		t.Errorf("%v sleeps of 1,000 threads that sleep ten times a second each", calls)
	}
	if in := s.of(keys[3]); in < 900 || in > 1800 {
		t.Errorf("1,000 threads spent %.1f s in the function that they began with, within a second", in)
	}
	detachClean(t, d, p.PID)
	pauses := d.Overhead().Pauses
	t.Logf("10 pairs in 1,001 threads: %d stops, the longest %d us, %d us in all", pauses.Count, pauses.MaxUS, pauses.TotalUS)
	if pauses.MaxUS > stops.Deadline.Microseconds() {
		t.Errorf("the target stood still for %d us", pauses.MaxUS)
	}
	p.Stop(t)
}

// TestThreadsComeAndGo counts the calls of many short threads, whether they use the same stacks again or never do: counts are
// exact, and memory does not grow.
func TestThreadsComeAndGo(t *testing.T) {
	total := rounds(30000, 1000000)
	bin := testprog.Build(t, "daemon/testdata/stacks.c")
	p := testprog.StartTarget(t, bin, fmt.Sprint(total), "16")
	d := attachTo(t, p.PID)
	var s sums
	calls := nameOf(t, d, "procedure_calls", "short_life")
	keys := []grid.PairKey{calls, nameOf(t, d, "exec_time_inclusive", "short_life"), nameOf(t, d, "exec_time_inclusive", "body"),
		nameOf(t, d, "exec_time_inclusive", "leaves"), nameOf(t, d, "cpu_inclusive", "leaves"), nameOf(t, d, "procedure_calls", "leaves")}
	d.mustEnable(t, &s, keys...)
	before := residentKB(t)
	start := time.Now()
	p.Say(t, "go")
	p.Expect(t, "DONE", 10*time.Minute)
	took := time.Since(start).Seconds()
	after := residentKB(t)
	d.Disable(keys)
	lossy := d.Targets()[0].Lossy
	got, want := uint64(s.of(calls)), p.Counts()["short_life"]
	if lossy && got > want || !lossy && got != want {
		t.Errorf("%d calls counted, the program made %d (lossy: %v)", got, want, lossy)
	}
	if lossy {
		t.Errorf("thread blocks ran out: those of the dead are not freed in time")
	}
	for _, k := range keys[1:5] {
		if v := s.of(k); v < 0 || v > took*17 {
			t.Errorf("%s: %.3f s in %.3f s", k, v, took)
		}
	}
	d.lockAll()
	used := len(d.targets[0].Seg.Used(nil))
	d.unlockAll()
	detachClean(t, d, p.PID)
	if grown := after - before; grown > 60<<10 {
		t.Errorf("resident memory grew by %d KiB", grown)
	}
	t.Logf("%d threads in %.1f s, %d blocks used; resident memory %d KiB, then %d; pauses %+v", p.Counts()["threads"], took, used, before, after, d.Overhead().Pauses)
	p.Stop(t)
}

// TestChurn is the same with stacks that the C library keeps.
func TestChurn(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/churn.c"), "32", "100")
	d := attachTo(t, p.PID)
	var s sums
	calls, bodies := nameOf(t, d, "procedure_calls", "short_life"), nameOf(t, d, "procedure_calls", "body")
	timer := nameOf(t, d, "exec_time_inclusive", "body")
	d.mustEnable(t, &s, calls, bodies, timer)
	before := residentKB(t)
	took := time.Duration(rounds(1500, 60000)) * time.Millisecond
	time.Sleep(took)
	after := residentKB(t)
	d.Disable([]grid.PairKey{calls, bodies, timer})
	if a, b := s.of(calls), s.of(bodies); a < 1000 || a > b || b > a+32 {
		t.Errorf("%v calls of short_life, %v of its only caller", a, b)
	}
	if v := s.of(timer); v <= 0 || v > 33*took.Seconds() {
		t.Errorf("%.2f s in 32 threads within %v", v, took)
	}
	if grown := after - before; grown > 30<<10 {
		t.Errorf("resident memory grew by %d KiB", grown)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
	t.Logf("%v threads; resident memory %d KiB, then %d", s.of(bodies), before, after)
}

// TestNoSuchThread: a thread that a process does not have is refused, as a process that is not there is.
func TestNoSuchThread(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/tails.c", "-O2"))
	d := attachWith(t, resultMetrics([]resultCount{{"leaf", "m += $return", ""}}), p.PID)
	var s sums
	process := "/Process/" + d.targets[0].Name
	for _, metric := range []string{"m0", "cpu"} {
		for _, thread := range []string{"thr_999999999", "thr_1", "nobody", "thr_"} {
			k := key(t, metric, process+"/"+thread)
			if err := d.Enable([]grid.PairKey{k}, &s)[0].Err; err == nil || !strings.Contains(err.Error(), "no live thread \""+thread+"\" of ") {
				t.Errorf("%s: %v", k, err)
			}
		}
	}
	d.mustEnable(t, &s, key(t, "m0", process+"/thr_"+strings.TrimSuffix(d.targets[0].Name[strings.LastIndex(d.targets[0].Name, "{")+1:], "}")))
	detachClean(t, d, p.PID)
	p.Stop(t)
}
