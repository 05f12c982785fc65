package daemon

import (
	"math"
	"testing"
	"time"

	"culprit/daemon/cost"
	"culprit/daemon/estimate"
	"culprit/daemon/kernel"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/measuring"
	"culprit/daemon/patch"
	"culprit/daemon/placement"
	"culprit/daemon/probe"
	"culprit/daemon/schedule"
	"culprit/daemon/selfcost"
	"culprit/daemon/target"
	"culprit/daemon/targetstats"
	"culprit/daemon/threads"
	"culprit/daemon/threadstats"
	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl"
)

// busyAllowance is one of two CPUs that others use all the time, where saved seconds are left at a time; at most 0.02 of them.
func busyAllowance(a *selfcost.Allowance, at time.Time, saved float64) {
	used := time.Duration(0)
	a.Begin(at.Add(-time.Minute), 0.02, selfcost.Machine{
		Idle: func() float64 { return 0 },
		Used: func() time.Duration { return used },
		CPUs: func() int { return 2 },
	})
	a.Update(at.Add(-59 * time.Second))
	a.Remaining(at.Add(-59 * time.Second))
	a.Remaining(at.Add(-time.Second)) // full
	used = time.Duration((0.02 - saved) * float64(time.Second))
	a.Remaining(at.Add(-time.Nanosecond))
}

// TestTaken: what probes and the kernel's programs take of the targets counts as used.
func TestTaken(t *testing.T) {
	const switches = 1e5
	d := wire(Options{}, &target.Session{Tree: grid.NewTree()})
	at := time.Now()
	busyAllowance(&d.allowance, at, 0)
	before := d.allowance.Remaining(at)
	watched, other := &measuring.Process{Target: &target.Target{}, Common: d.common}, &measuring.Process{Target: &target.Target{}, Common: d.common}
	watched.Stats = targetstats.New(targetstats.Config{Kept: new(threadstats.Table)})
	other.Stats = targetstats.New(targetstats.Config{})
	for _, tg := range []*measuring.Process{watched, other} {
		tg.Threads = threads.New(threads.Config{Tree: grid.NewTree()})
		tg.Threads.Update(1, []kernel.ThreadTimes{{TID: 1, Start: 1}}, 0)
		tg.Threads.Update(1001, []kernel.ThreadTimes{{TID: 1, Start: 1, Slices: 1000 * switches}}, 0)
		d.targets = append(d.targets, tg)
	}
	d.passes.accountTaken(2, 0.01)
	wantTaken := func(want float64) {
		t.Helper()
		if got := before - d.allowance.Remaining(at); math.Abs(got-want) > 1e-6 {
			t.Errorf("%g s were taken, want %g", got, want)
		}
	}
	wantTaken(0.02)
	d.common.Programs.Load = func() (*threadstats.Keeper, error) { return new(threadstats.Keeper), nil }
	if err := d.common.Programs.Open(); err != nil {
		t.Fatal(err)
	}
	d.passes.accountTaken(1, 0)
	wantTaken(0.02 + cost.Statistics(switches))
}

// TestStill: passes are rare while processors are busy, too much was taken of them, and nothing is measured by probes or rows.
func TestStill(t *testing.T) {
	process := &measuring.Process{Target: &target.Target{}}
	of := func(parts ...*measuring.Part) *pair {
		for _, p := range parts {
			p.Process = process
		}
		return &pair{parts: parts}
	}
	keptPart := &measuring.Part{Meter: &kernelmeter.Meter{}}
	kept := of(keptPart, keptPart)
	programs := &targetstats.Programs{Load: func() (*threadstats.Keeper, error) { return new(threadstats.Keeper), nil }}
	source := &kernelmeter.Source{Target: &target.Target{Stats: targetstats.New(targetstats.Config{Programs: programs, Kept: new(threadstats.Table)})}}
	statistic := kernelmeter.New(source, &pcl.Plan{Kind: pcl.Kernel, KernelName: threadstats.OffCPU.Name()})
	if err := statistic.Prepare(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		busy  bool
		saved float64
		pairs []*pair
		want  float64
	}{
		{"idle processors", false, -1, []*pair{kept}, selfcost.PassShare},
		{"time to spare", true, 0.01, []*pair{kept}, selfcost.BusyShare},
		{"a probe", true, -1, []*pair{kept, of(keptPart, &measuring.Part{Meter: &probe.Meter{}, Code: placement.Code{Sites: []*patch.Site{{}}}})}, selfcost.BusyShare},
		{"the kernel's rows", true, -1, []*pair{of(&measuring.Part{Meter: statistic})}, selfcost.BusyShare},
		{"a target that is only looked at", true, -1, []*pair{of(&measuring.Part{Meter: &estimate.Meter{}})}, selfcost.BusyShare},
		{"nothing", true, -1, []*pair{kept}, selfcost.StillShare},
	} {
		d := wire(Options{}, &target.Session{Tree: grid.NewTree()})
		d.targets = []*measuring.Process{process}
		if c.busy {
			busyAllowance(&d.allowance, time.Now(), c.saved)
		}
		for i, p := range c.pairs {
			d.pairs[grid.PairKey{Metric: string(rune('a' + i))}] = p
		}
		if got := d.passes.passShare(); got != c.want {
			t.Errorf("%s: passes take %g, want %g", c.name, got, c.want)
		}
		d.session.Began = time.Now() // somebody waits for the first answers
		if got := d.passes.passShare(); c.want == selfcost.BusyShare && got != selfcost.PassShare {
			t.Errorf("%s: in the first seconds passes take %g", c.name, got)
		}
	}
}

// TestStillLooks: threads of a real process are looked at in each round, and in one of schedule.StillRounds while nobody waits for values.
func TestStillLooks(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/cpu.c"))
	d := attachTo(t, p.PID)
	for quiet := time.Now(); time.Since(quiet) < 300*time.Millisecond; time.Sleep(5 * time.Millisecond) { // threads are not looked at meanwhile
		if d.targets[0].Making() {
			quiet = time.Now()
		}
	}
	at := time.Now()
	looks := func(saved float64) int {
		d.mu.Lock()
		defer d.mu.Unlock()
		busyAllowance(&d.allowance, time.Now(), saved)
		before := d.targets[0].Profile.Turns()
		for range 2 * schedule.StillRounds {
			load := d.looks.load()
			if at = at.Add(time.Second); !d.schedule.Begin(at, load, d.looks.beats) {
				t.Fatal("no round is due")
			}
			d.looks.look(load)
		}
		return d.targets[0].Profile.Turns() - before
	}
	if one, all := looks(-1), looks(0.01); one != 2 || all != 2*schedule.StillRounds {
		t.Errorf("a thread is looked at %d times in %d rounds while nothing is measured, %d else", one, 2*schedule.StillRounds, all)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
