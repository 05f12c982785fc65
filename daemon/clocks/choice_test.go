package clocks

import (
	"math"
	"slices"
	"testing"
	"time"

	"culprit/daemon/cost"
	"culprit/daemon/kernel"
	"culprit/daemon/selfcost"
	"culprit/daemon/target"
	"culprit/daemon/targetstats"
	"culprit/daemon/threads"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/pcl"
)

// newTarget is one whose only thread was put on a CPU so many times a second; statistics of it are kept.
func newTarget(switches uint64) Target {
	t := &target.Target{Threads: threads.New(threads.Config{Tree: grid.NewTree()})}
	t.Stats = targetstats.New(targetstats.Config{Kept: new(threadstats.Table), Filtered: func() bool { return t.Seccomp != 0 }})
	t.Threads.Update(1, []kernel.ThreadTimes{{TID: 1, Start: 1}}, 0)
	t.Threads.Update(1001, []kernel.ThreadTimes{{TID: 1, Start: 1, Slices: 1000 * switches}}, 0)
	return Target{Target: t, Rates: &cost.Rates{}}
}

func newChoice(targets ...Target) *Choice {
	a := new(selfcost.Allowance)
	a.Begin(time.Now(), 0.02, selfcost.Machine{Idle: func() float64 { return 1 }, Used: func() time.Duration { return 0 }, CPUs: func() int { return 1 }})
	programs := &targetstats.Programs{Load: func() (*threadstats.Keeper, error) { return new(threadstats.Keeper), nil }}
	return New(Config{Targets: slices.Values(targets), Allowance: a, Prices: &cost.Executions{}, Programs: programs})
}

// cpuTime is a plan that times CPU time.
var cpuTime = pcl.Plan{Pair: grid.PairKey{Metric: "cpu"}, Kind: pcl.ProcessTimer, Vars: []pcl.Var{{Name: "cpu", Kind: pcl.ProcessTimer}}}

// TestTaken: statistics take something of the targets that live, once they are kept by the kernel.
func TestTaken(t *testing.T) {
	const switches = 100_000
	lives, ended := newTarget(switches), newTarget(switches)
	ended.Ended = true
	c := newChoice(lives, ended)
	if got := c.Taken(); got != 0 {
		t.Errorf("%g CPUs before the programs are there", got)
	}
	if err := c.Programs.Open(); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Taken(), cost.Statistics(switches); math.Abs(got-want) > 1e-9 {
		t.Errorf("%g CPUs, want %g", got, want)
	}
	if c.CountSwitches(); math.Abs(c.Switches()-switches) > 1 {
		t.Errorf("%g switches a second", c.Switches())
	}
}

// TestWhoCallsClockGettime: the probes of a pair of which that was noted, but not in a target that a filter might end for it; and no probe of what
// only the kernel keeps.
func TestWhoCallsClockGettime(t *testing.T) {
	of := newTarget(0)
	c := newChoice(of)
	if !c.Reads(of.Target, &cpuTime) {
		t.Error("it does not read statistics that are kept")
	}
	c.Ask(cpuTime.Pair)
	if c.Reads(of.Target, &cpuTime) {
		t.Error("it reads statistics although it is to call clock_gettime")
	}
	kept := cpuTime
	kept.Vars = []pcl.Var{{Name: "run queue", Kind: pcl.Kernel}}
	if !c.Reads(of.Target, &kept) {
		t.Error("what only the kernel keeps is not read there")
	}
	of.Seccomp = 2
	if !c.Reads(of.Target, &cpuTime) {
		t.Error("probes call clock_gettime in a program that is under a filter")
	}
}

// TestSeldomCalled: where statistics take much, what is seldom called goes without, what is often called has them in its price, and so has what was
// never counted.
func TestSeldomCalled(t *testing.T) {
	of := newTarget(1_000_000)
	c := newChoice(of)
	c.CountSwitches()
	plan := cpuTime
	plan.Requests = []pcl.Request{{Func: 1, Where: pcl.Entry, Code: []pcl.Instr{{Op: pcl.OpTimerEnter}}}}
	choose := func() float64 { return c.Choose([]Plan{{of, &plan}}) }
	if choose() == 0 {
		t.Error("what was never counted goes without statistics")
	}
	of.Rates.Note(1, 1, 0)
	if got := choose(); got != 0 || c.Reads(of.Target, &plan) {
		t.Errorf("what is seldom called has %g of statistics in its price", got)
	}
	of.Rates.Note(1, 1e9, 1)
	if got, want := choose(), cost.Statistics(1_000_000)/c.TimeOfTargets(); math.Abs(got-want) > 1e-9 || !c.Reads(of.Target, &plan) {
		t.Errorf("what is often called has %g in its price, want %g", got, want)
	}
}
