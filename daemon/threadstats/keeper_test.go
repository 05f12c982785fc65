package threadstats

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// TestOpenIsQuickAndSmall bounds what Open costs: 100 ms of processor time, and 20 MB that are in use or can be again.
func TestOpenIsQuickAndSmall(t *testing.T) {
	opened(t).Close() // whatever is prepared once
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began, took := used(t), time.Now()
	k := opened(t)
	ran, wall := used(t)-began, time.Since(took)
	runtime.ReadMemStats(&after)
	runtime.GC()
	var kept runtime.MemStats
	runtime.ReadMemStats(&kept)
	t.Logf("Open took %v of a processor, %v in all; it allocated %d KiB, keeps %d KiB", ran, wall, (after.TotalAlloc-before.TotalAlloc)>>10,
		(int64(kept.HeapAlloc)-int64(before.HeapAlloc))>>10)
	if ran > 150*time.Millisecond || after.TotalAlloc-before.TotalAlloc > 20<<20 {
		t.Error("that is too much")
	}
	k.Close()
}

// used is the processor time of this process.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestNothingOfAClosedKeeperIsUsed calls everything after Close.
func TestNothingOfAClosedKeeperIsUsed(t *testing.T) {
	k := opened(t)
	tab := watched(t, k, os.Getpid(), 64)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Watch(os.Getpid(), 64); err == nil {
		t.Error("a closed keeper watches")
	}
	if err := k.Need(FaultTime); err == nil {
		t.Error("a closed keeper attaches")
	}
	if _, err := k.Cost(); err == nil {
		t.Error("a closed keeper has a cost")
	}
	k.Release(FaultTime)
	if tab.Exhausted() != 0 || k.Close() != nil || tab.Close() != nil || tab.Close() != nil {
		t.Error("closing once more does something")
	}
}

// TestWatchRefuses names what cannot be watched.
func TestWatchRefuses(t *testing.T) {
	k := opened(t)
	for _, slots := range []int{0, -64, 32, 100, 1 << 17} {
		if _, err := k.Watch(os.Getpid(), slots); err == nil {
			t.Errorf("%d slots are taken", slots)
		}
	}
	for _, pid := range []int{0, -1, 1 << 22, 1<<31 - 1} {
		if _, err := k.Watch(pid, 64); err == nil {
			t.Errorf("process %d is watched", pid)
		} else {
			t.Log(err)
		}
	}
	tab := watched(t, k, os.Getpid(), 64)
	if _, err := k.Watch(os.Getpid(), 64); err == nil {
		t.Error("a process is watched twice")
	}
	if tab.Close() != nil {
		t.Error("it cannot be closed")
	}
	watched(t, k, os.Getpid(), 128)
}

// TestWatchedAgainElsewhere: rows of a process that is watched again lie elsewhere than its threads remember: where they do, there is
// nothing, or the rows of another.
func TestWatchedAgainElsewhere(t *testing.T) {
	k := opened(t)
	all := []*actor{newActor(t, k), newActor(t, k)}
	var keys []uint64
	for _, a := range all {
		keys = append(keys, a.tab.Key(a.index))
		if err := a.tab.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{1, 0} {
		a := all[i]
		old := a.tab.place
		a.tab = watched(t, k, a.PID, 64)
		if a.tab.place == old {
			t.Errorf("process %d is where it was, which tests nothing", i)
		}
		a.index = found(t, a.tab, keys[i])
	}
	for i, a := range all {
		began := now(t)
		a.act(t, "nap 20000000")
		if slept := a.tab.Value(a.index, BlockedSleep, now(t)); slept < 19e6 || slept > now(t)-began {
			t.Errorf("process %d slept %d ns", i, slept)
		}
	}
}

// TestTwoHundredProcesses watches them at once.
func TestTwoHundredProcesses(t *testing.T) {
	k := opened(t)
	bin := testprog.Build(t, "daemon/threadstats/testdata/acts.c")
	const n = 200
	all := make([]*actor, n)
	tps := make([]uint64, n)
	for i := range all {
		all[i] = &actor{Prog: testprog.Start(t, bin)}
	}
	began, wall := used(t), time.Now()
	for i, a := range all {
		tps[i] = pointer(t, a.Prog)
		a.tab = watched(t, k, a.PID, 64)
	}
	for _, a := range all {
		a.Say(t, "nap 20000000")
	}
	for i, a := range all {
		a.Expect(t, "DONE", 20*time.Second)
		a.index = found(t, a.tab, tps[i])
		if slept := a.tab.Value(a.index, BlockedSleep, now(t)); slept < 19e6 || slept > 20e9 {
			t.Errorf("process %d slept %d ns", i, slept)
		}
	}
	t.Logf("200 processes watched within %v, with %v of this process's processor time", time.Since(wall), used(t)-began)
	if err := k.Close(); err != nil { // before the tables: nothing waits for the kernel to forget each of them then
		t.Error(err)
	}
}

// TestAReaderNeverSeesNonsense reads rows while their threads are switched all the time: what only grows must grow, the
// parts must be the whole, and time off the processor must not be more than there was.
func TestAReaderNeverSeesNonsense(t *testing.T) {
	k := opened(t)
	a := newActor(t, k)
	span := 500 * time.Millisecond
	if *long {
		span = 20 * time.Second
	}
	end := time.Now().Add(span)
	var wg sync.WaitGroup
	wg.Go(func() {
		for time.Now().Before(end) {
			a.act(t, "switches 500")
		}
	})
	list := []Quantity{OffCPU, RunQueueWait, BlockedSleep, BlockedPipe, Preempted}
	last := map[Quantity]int64{}
	from := now(t)
	for _, q := range list {
		last[q] = a.tab.Value(a.index, q, from)
	}
	first, reads, back, worst := last[OffCPU], 0, 0, int64(0)
	for time.Now().Before(end) {
		for _, q := range list {
			at := now(t)
			v := a.tab.Value(a.index, q, at)
			// The scheduler's account is made a little before the clock is read: the time off the processor may be told too high by
			// what was taken away between the two, and stands still until it is right.
			if slack := map[Quantity]int64{OffCPU: 300e3}[q]; v < last[q]-slack {
				back++
				worst = max(worst, last[q]-v)
			}
			if q == OffCPU && v-first > now(t)-from {
				t.Errorf("off the processor for %d ns within %d", v-first, now(t)-from)
			}
			last[q] = max(last[q], v)
			reads++
		}
	}
	wg.Wait()
	t.Logf("%d reads of a row whose thread was switched %d times; %d went back, by %d ns at most", reads, a.tab.Value(a.index, VoluntarySwitches, 0), back, worst)
	// The clocks of two processors may be apart by what a cache line takes. A thread that came back unseen was taken for waiting. Where a
	// hypervisor takes the processor away between the switch and the writing of it, the reads of that moment tell too much: few of them,
	// for a reader that is wrong goes back at every switch.
	if unseen := a.tab.Unseen(); unseen > 0 {
		t.Logf("%d switches to it were not told by any trace point", unseen)
	} else if worst > 2000 && back > reads/1000 {
		t.Error("what only grows has shrunk")
	}
}

// TestOwnThreads watches this process, whose threads are made by Go: their thread pointers are set after they have begun.
func TestOwnThreads(t *testing.T) {
	k := opened(t)
	tab := watched(t, k, os.Getpid(), 2048)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			runtime.LockOSThread() // and not unlocked: the thread ends with it
			for range 20 {
				syscall.Nanosleep(&syscall.Timespec{Nsec: 1e6}, nil)
			}
		})
	}
	wg.Wait()
	var slept int64
	for i := range owned(tab) {
		slept += tab.Value(i, BlockedSleep, now(t))
	}
	t.Logf("%d rows, %.1f ms asleep, %d began with another's pointer, %d with none", len(owned(tab)), float64(slept)/1e6, tab.Shared(), tab.Keyless())
	if slept < 20*19*1e6 || tab.Keyless() != 0 || tab.Exhausted() != 0 {
		t.Error("sleeps were lost, or threads that have a pointer")
	}
}

// TestCost prints what the programs take for each switch.
func TestCost(t *testing.T) {
	k := opened(t)
	begin, err := k.Cost()
	if err != nil {
		t.Fatal(err)
	}
	p := testprog.Start(t, testprog.Build(t, "daemon/threadstats/testdata/acts.c"))
	tp := pointer(t, p)
	a := &actor{Prog: p}
	a.act(t, "switches 5000")
	unwatched, err := k.Cost()
	if err != nil {
		t.Fatal(err)
	}
	a.tab = watched(t, k, a.PID, 64)
	a.act(t, "switches 5000")
	watchedCost, err := k.Cost()
	if err != nil {
		t.Fatal(err)
	}
	found(t, a.tab, tp)
	for _, c := range []struct {
		what     string
		from, to Cost
		limit    float64
	}{{"unwatched", begin, unwatched, 500}, {"watched", unwatched, watchedCost, 2500}} {
		runs, wakes := c.to.Switches-c.from.Switches, c.to.Wakeups-c.from.Wakeups
		each := float64(c.to.SwitchNS-c.from.SwitchNS) / float64(runs)
		t.Logf("%-9s %d switches, %.0f ns each; %d wake-ups, %.0f ns each", c.what, runs, each, wakes, float64(c.to.WakeupNS-c.from.WakeupNS)/float64(max(wakes, 1)))
		if runs < 5000 || each > c.limit {
			t.Errorf("%s: %d switches at %.0f ns", c.what, runs, each)
		}
	}
	if err := k.StopCost(); err != nil {
		t.Error(err)
	}
}
