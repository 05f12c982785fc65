package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"culprit/daemon/process"
	"culprit/daemon/selfcost"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// withRows attaches with the backend that must have the kernel's rows; the test is skipped where the kernel keeps none.
func withRows(t *testing.T, pid int) *Daemon {
	t.Helper()
	d, err := Attach(context.Background(), Options{Library: library(t), Backend: grid.BackendEBPF, Log: func(s string) { t.Log(s) }}, pid)
	var denied grid.ErrNotPermitted
	var lacks grid.ErrUnsupported
	if errors.As(err, &denied) || errors.As(err, &lacks) {
		require.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Detach() })
	return d
}

// TestRowsWithoutProbes: what the kernel keeps for each thread is told of a process into which nothing is put, for the whole of it and
// for a thread. A thread that only waits, as it says itself, waits in a futex or a pipe, or is ready.
func TestRowsWithoutProbes(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"), "1500")
	before := witnessOf(t, p.PID)
	d := withRows(t, p.PID)
	d.Known()
	if b := d.Targets()[0].Backend; b != grid.BackendEBPF {
		t.Errorf("the backend is %v", b)
	}
	process := d.targets[0].Name
	at := func(metric, thread string) grid.PairKey {
		k := grid.PairKey{Metric: metric, Focus: grid.Whole()}
		if thread != "" {
			k.Focus = k.Focus.Refine(grid.Process, process, thread)
		}
		return k
	}
	threads := d.session.Tree.Children(grid.Process, process)
	if len(threads) != 4 {
		t.Fatalf("threads: %q", threads)
	}
	visitor := threads[0]
	for _, name := range threads { // the last that it made
		if strings.Compare(name, visitor) > 0 {
			visitor = name
		}
	}
	futex, pipe, ready, calls := at("blocked_futex", ""), at("blocked_pipe", ""), at("ready_wait", ""), at("system_calls", "")
	his := at("blocked_futex", visitor)
	keys := []grid.PairKey{futex, pipe, ready, calls, his}
	var s sums
	for _, r := range d.Enable(keys, &s) {
		if r.Err != nil || r.Tier != grid.TierKernel {
			t.Fatalf("%s: tier %q, %v", r.Key, r.Tier, r.Err)
		}
	}
	refused := d.Enable([]grid.PairKey{key(t, "blocked_pipe", "/Code/shares.c/visit")}, &s)[0].Err
	var not grid.ErrNotSampled
	if !errors.As(refused, &not) {
		t.Errorf("at a function: %v", refused)
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	time.Sleep(2 * tickInterval)
	d.Disable(keys)
	counts := p.Counts()
	in := func(name string) float64 { return float64(counts[name]) / 1e9 }
	locks := in("mutex") + in("sem")
	t.Logf("futex %.3f s (it says %.3f), of the one that waits %.3f; pipe %.3f (%.3f); ready %.3f; %.0f system calls", s.of(futex), locks, s.of(his), s.of(pipe), in("pipe"),
		s.of(ready), s.of(calls))
	const join = 0.05 // s, at the end, where one thread waits for another
	if s.of(futex) > locks+join || s.of(pipe) > in("pipe")+join {
		t.Error("more than it says")
	}
	if s.of(futex)+s.of(ready) < 0.95*locks || s.of(pipe)+s.of(ready) < 0.95*in("pipe") {
		t.Error("less than it says")
	}
	lost := selfcost.LongestInterval.Seconds() // what a thread did in its last moments is told for the whole only
	if s.of(his) > s.of(futex) || s.of(his) < s.of(futex)-lost || s.of(his) < 0.3*locks {
		t.Error("the one that waits does not wait as long as it says")
	}
	if s.of(calls) < 500 {
		t.Error("few system calls")
	}
	if d.targets[0].Stops.Count() != 0 || witnessOf(t, p.PID) != before {
		t.Error("the process is not as it was")
	}
	p.Stop(t)
}

// TestRowsOfShortLives: rows of threads that have ended are given back, and nothing of what they say is lost or counted twice. Each of the
// threads sleeps once, for 2 ms at least, and they say how many they were and how long they slept until they ran again.
func TestRowsOfShortLives(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/churn.c"), "64", "2000")
	d := withRows(t, p.PID)
	sleeps := key(t, "blocked_sleep", "/")
	tg := d.targets[0]
	says := func(name string) float64 {
		var b [8]byte
		at, ok := tg.DataNamed(name)
		if err := tg.Proc.ReadMem(process.Addr(at), b[:]); err != nil || !ok {
			t.Fatalf("%s: %t, %v", name, ok, err)
		}
		return float64(binary.LittleEndian.Uint64(b[:]))
	}
	sleep := func(free bool) (slept, least, atMost float64, most, left int) {
		var s sums
		results := d.Enable([]grid.PairKey{sleeps}, &s)
		if results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		lived, slow := says("lived"), says("slept_ns")
		for until := time.Now().Add(time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
			if !free {
				continue
			}
			d.lockAll()
			most = max(most, tg.Stats.Taken())
			d.passes.passHolding(d.held(), d.Now())
			tg.Stats.FreeDead()
			left = max(left, tg.Stats.Taken())
			d.unlockAll()
		}
		least, atMost = 0.002*(says("lived")-lived), (says("slept_ns")-slow)/1e9
		d.Disable([]grid.PairKey{sleeps})
		return s.of(sleeps), least, atMost, most, left
	}
	for _, free := range []bool{false, true} {
		slept, least, atMost, _, _ := sleep(free)
		t.Logf("threads slept %.2f s, between %.2f and %.2f s as they say; rows freed: %v", slept, least, atMost, free)
		if underWay := 64 * 0.002; slept < 0.97*least-underWay || slept > 1.02*atMost+underWay {
			t.Errorf("rows freed: %v: %.2f s, of %.2f to %.2f", free, slept, least, atMost)
		}
	}
	_, _, _, most, left := sleep(true)
	t.Logf("at most %d rows were taken, and %d were left", most, left)
	if most == 0 || left > 1+64 {
		t.Errorf("of at most 65 threads %d rows are left", left)
	}
	p.Stop(t)
}
