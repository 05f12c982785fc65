package selfcost

//test:alone

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"culprit/daemon/kernel"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// A turned machine is one whose CPUs and clock are turned by hand.
type turned struct {
	at   time.Time
	idle float64
	used time.Duration
	cpus int
}

func (m *turned) machine() Machine {
	return Machine{
		Idle: func() float64 { return m.idle },
		Used: func() time.Duration { return m.used },
		CPUs: func() int { return m.cpus },
	}
}

// pass lets time pass, in which we use CPU time, and finds out whether CPUs are busy.
func (m *turned) pass(a *Allowance, span, used time.Duration, busy bool) {
	m.at, m.used = m.at.Add(span), m.used+used
	m.idle = 0
	if !busy {
		m.idle = 1
	}
	a.Update(m.at)
}

// The share of two CPUs that may be used at a budget of 8 %: what is lost is four times that.
const (
	budget = 0.08
	share  = 0.04
)

func begin() (*turned, *Allowance) {
	m, a := &turned{at: time.Unix(1000, 0), cpus: 2}, new(Allowance)
	a.Begin(m.at, budget, m.machine())
	return m, a
}

// TestRemaining: what we may use grows with time and shrinks with what we use, and what was long ago is forgotten.
func TestRemaining(t *testing.T) {
	m, a := begin()
	m.pass(a, time.Second, 100*time.Millisecond, true)
	want := func(what string, left float64) {
		t.Helper()
		if got := a.Remaining(m.at); math.Abs(got-left) > 1e-9 {
			t.Errorf("%s: %g s are left, want %g", what, got, left)
		}
	}
	want("what was used before the first entry is nobody's debt", 0)
	m.pass(a, 10*time.Second, 300*time.Millisecond, true)
	want("10 s with 0.3 s used: 0.1 s more, which is more than is kept", longestCredit*share)
	m.pass(a, 3*time.Second, time.Second, true)
	want("3 s with 1 s used", longestCredit*share+3*share-1)
	if !a.Overdrawn() {
		t.Error("a debt is not told")
	}
	m.pass(a, 3*time.Minute, time.Minute, true)
	want("a minute's debt", -longestDebt*share)
	m.pass(a, time.Second, time.Minute, false)
	if got := a.Remaining(m.at); !math.IsInf(got, 1) || a.Overdrawn() {
		t.Errorf("while a CPU is idle %g s are left, overdrawn %v", got, a.Overdrawn())
	}
	m.pass(a, 0, 0, true) // too early to be asked
	if a.Busy() {
		t.Error("busy at a moment at which it was not asked")
	}
	m.pass(a, time.Second, 0, true)
	want("what was used while a CPU was idle is no debt", (2-longestDebt)*share)
	m.pass(a, time.Hour, 0, true)
	want("an hour", longestCredit*share)
	a.Charge(0.5)
	want("what probes take counts too", longestCredit*share-0.5)
}

// TestBusy: CPUs are busy while neither idle time nor our own is a quarter of them, and that is asked once a second.
func TestBusy(t *testing.T) {
	for _, c := range []struct {
		idle float64
		ours time.Duration // in a second of two CPUs
		busy bool
	}{{0, 0, true}, {0.24, 0, true}, {0.26, 0, false}, {0, 600 * time.Millisecond, false}, {0.2, 200 * time.Millisecond, false}, {0.1, 200 * time.Millisecond, true}} {
		m, a := begin()
		m.idle = c.idle
		a.Update(m.at.Add(firstAsked / 2))
		if a.Busy() {
			t.Error("it was asked too early")
		}
		m.used = c.ours
		a.Update(m.at.Add(time.Second))
		if a.Busy() != c.busy {
			t.Errorf("idle %g, ours %v: busy %v", c.idle, c.ours, a.Busy())
		}
		m.idle = 1 - c.idle
		if a.Update(m.at.Add(time.Second + busyFor/2)); a.Busy() != c.busy {
			t.Errorf("idle %g: asked again after %v", c.idle, busyFor/2)
		}
	}
}

// TestTaken: what we use beyond what was idle is taken from others; what comes after the last look counts like what came before it.
func TestTaken(t *testing.T) {
	for _, c := range []struct {
		idle   float64
		denied time.Duration // of 400 ms that we use in a second of two CPUs, a share of 0.2
	}{{0, 400 * time.Millisecond}, {0.1, 200 * time.Millisecond}, {0.2, 0}, {0.7, 0}} {
		m, a := begin()
		m.idle, m.used = c.idle, 400*time.Millisecond
		a.Update(m.at.Add(time.Second))
		for _, more := range []time.Duration{0, 400 * time.Millisecond} {
			want := c.denied.Seconds() * (1 + more.Seconds()/0.4)
			if m.used = 400*time.Millisecond + more; math.Abs(a.Taken(10)-want/20) > 1e-9 {
				t.Errorf("idle %g, and %v since: %g were taken, want %g", c.idle, more, a.Taken(10), want/20)
			}
		}
	}
	if d := new(Allowance).Taken(1); d != 0 {
		t.Errorf("before it began %g were taken", d)
	}
}

// TestNothingIsKnown: where the CPUs cannot be counted, as in an Allowance that never began, they are not busy.
func TestNothingIsKnown(t *testing.T) {
	m, a := begin()
	m.cpus = 0
	a.Begin(m.at, 0, m.machine())
	for _, a := range []*Allowance{a, new(Allowance)} {
		a.Update(m.at.Add(time.Minute))
		if left := a.Remaining(m.at.Add(time.Minute)); a.Busy() || a.Overdrawn() || !math.IsInf(left, 1) || a.Budget() != UsualBudget {
			t.Errorf("busy %v, overdrawn %v, %g s left, budget %g", a.Busy(), a.Overdrawn(), left, a.Budget())
		}
	}
}

// TestOwnWork holds an Allowance against the real machine: our own work does not make CPUs busy.
func TestOwnWork(t *testing.T) {
	cpus := onlineCPUs(t)
	var a Allowance
	a.Begin(time.Now(), 0, ThisMachine())
	before, began := kernel.OwnTime(), time.Now()
	compute(8*cpus, time.Second) // most of the CPUs, also beside others
	a.Update(time.Now())
	if ours := (kernel.OwnTime() - before).Seconds() / time.Since(began).Seconds() / float64(cpus); ours < 1.1*idleEnough {
		require.Skipf(t, "others use this machine: of %d CPUs we got %.0f %%", cpus, 100*ours)
	}
	if a.Busy() || a.CPUs() != cpus {
		t.Errorf("busy %v with our own work on %d of %d CPUs", a.Busy(), a.CPUs(), cpus)
	}
}

// TestDemand is the same with programs of others on all CPUs, which makes them busy.
func TestDemand(t *testing.T) {
	for range onlineCPUs(t) {
		p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/cpu.c"))
		defer p.Stop(t)
	}
	time.Sleep(time.Second)
	var a Allowance
	a.Begin(time.Now(), 0, ThisMachine())
	time.Sleep(time.Second)
	if a.Update(time.Now()); !a.Busy() {
		t.Error("not busy with programs on all CPUs")
	}
}

func onlineCPUs(t *testing.T) int {
	cpus, err := kernel.OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	return len(cpus)
}

// compute keeps so many threads of ours busy.
func compute(threads int, span time.Duration) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
	var done sync.WaitGroup
	for end := time.Now().Add(span); threads > 0; threads-- {
		done.Go(func() {
			for time.Now().Before(end) {
			}
		})
	}
	done.Wait()
}
