package daemon

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"culprit/daemon/cost"
	"culprit/daemon/kernel"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestRowsPrice: in a program whose threads hand each other the processor all the time, what is seldom called is timed without rows, the
// price of what is called often has what rows take, and what they take is observed.
func TestRowsPrice(t *testing.T) {
	p, d := pingPong(t)
	serve, tidy, step := key(t, "cpu_inclusive", "/Code/pingpong.c/serve"), key(t, "cpu_inclusive", "/Code/pingpong.c/tidy"), key(t, "cpu_inclusive", "/Code/pingpong.c/step")
	prices, errs := d.Price([]grid.PairKey{serve, tidy, step})
	for i, err := range errs {
		if err != nil {
			t.Fatal(i, err)
		}
	}
	d.lockAll()
	want := cost.Statistics(d.common.Clocks.Switches()) / d.common.Clocks.TimeOfTargets()
	d.unlockAll()
	t.Logf("rows take %.2f %%, prices %+v", 100*want, prices)
	if prices[0].Shared != 0 || prices[1].Shared != 0 {
		t.Errorf("what is seldom called has %.2g and %.2g for rows in its price", prices[0].Shared, prices[1].Shared)
	}
	if prices[1].Fraction == 0 {
		t.Error("asking the kernel costs nothing")
	}
	if got := prices[2].Shared; got < want/3 || got > 3*want {
		t.Errorf("what is called often has %.2g for rows in its price, want some %.2g", got, want)
	}

	var s sums
	enableTogether(t, d, &s, serve, tidy)
	if _, running := rowsOf(d); running {
		t.Error("rows are kept for what is seldom called")
	}
	server := int(p.Counts()["server"])
	ran := func() float64 { return threadTime(t, p.PID, server) }
	before, already := ran(), s.of(serve)
	time.Sleep(2 * time.Second)
	d.tickAll()
	if got, want := s.of(serve)-already, ran()-before; math.Abs(got-want) > 0.05*want+0.05 {
		t.Errorf("serve: %.3f s of processor time, its thread used %.3f", got, want)
	}
	if got := s.of(tidy); got <= 0 || got > s.of(serve) {
		t.Errorf("tidy: %.3f s of %.3f", got, s.of(serve))
	}

	enableTogether(t, d, &s, step)
	time.Sleep(time.Second)
	if take, running := rowsOf(d); !running || take < want/3 || take > 3*want {
		t.Errorf("rows are kept: %v; they are observed to take %.2g, want some %.2g", running, take, want)
	}
	d.Disable([]grid.PairKey{serve, tidy, step})
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestRowsForFilters: who may not ask the kernel reads rows, whatever they take.
func TestRowsForFilters(t *testing.T) {
	p, d := pingPong(t)
	serve := key(t, "cpu_inclusive", "/Code/pingpong.c/serve")
	d.lockAll()
	d.targets[0].Seccomp = 2 // as if the program were under a filter: that is asked when it is attached to
	d.unlockAll()
	prices, errs := d.Price([]grid.PairKey{serve})
	if errs[0] != nil || prices[0].Shared == 0 {
		t.Errorf("%+v, %v", prices[0], errs[0])
	}
	var s sums
	enableTogether(t, d, &s, serve)
	if _, running := rowsOf(d); !running {
		t.Error("no rows are kept for it")
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestLateFilterTimes: where a program puts itself under a filter, what was timed by asking the kernel is timed by rows from then on.
func TestLateFilterTimes(t *testing.T) {
	t.Parallel()
	if err := threadstats.Missing(); err != nil {
		require.Skip(t, err.Error())
	}
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/seccomp.c"), "kill", "late")
	d := attachTo(t, p.PID)
	poll := key(t, "cpu_inclusive", "/Code/libc.so.6/poll")
	d.lockAll()
	d.common.Clocks.Ask(poll) // as if it were seldom called, in a program that is switched often
	d.unlockAll()
	var s sums
	enableTogether(t, d, &s, poll)
	reads := func() (any, all bool) {
		d.lockAll()
		defer d.unlockAll()
		all = len(d.pairs[poll].parts) > 0
		for _, pt := range d.pairs[poll].parts {
			any, all = any || pt.ReadsStatistics(), all && pt.ReadsStatistics()
		}
		return any, all
	}
	if any, _ := reads(); any {
		t.Fatal("it reads rows from the beginning")
	}
	p.Say(t, "go")
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if _, all := reads(); all {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not read rows under a filter")
		}
	}
	already := s.of(poll)
	time.Sleep(2 * time.Second)
	if s.of(poll) <= already {
		t.Error("nothing is timed under the filter")
	}
	d.Disable([]grid.PairKey{poll})
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// pingPong starts the program whose threads hand each other the processor, and waits until that is known.
func pingPong(t *testing.T) (*testprog.Prog, *Daemon) {
	t.Helper()
	if err := threadstats.Missing(); err != nil {
		require.Skip(t, err.Error())
	}
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/pingpong.c"))
	d := attachTo(t, p.PID)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		d.lockAll()
		often := d.common.Clocks.Switches()
		d.unlockAll()
		if often > 10000 && d.Now() > 1 {
			return p, d
		}
		if time.Now().After(end) {
			t.Fatalf("%.0f switches a second", often)
		}
	}
}

// rowsOf says what rows are observed to take of the targets' time, and whether they are kept.
func rowsOf(d *Daemon) (take float64, running bool) {
	d.lockAll()
	defer d.unlockAll()
	return d.passes.statisticsCost(), d.common.Programs.Running()
}

// threadTime is the processor time of a thread, in s.
func threadTime(t *testing.T, pid, tid int) float64 {
	t.Helper()
	table := kernel.NewThreadTable()
	defer table.Close()
	times, err := table.Refresh(pid)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(times, func(k kernel.ThreadTimes) bool { return k.TID == tid })
	if i < 0 {
		t.Fatal(fmt.Errorf("no thread %d in %d", tid, pid))
	}
	return times[i].Run.Seconds()
}
