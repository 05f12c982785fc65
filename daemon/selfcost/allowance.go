package selfcost

import (
	"math"
	"sync"
	"time"

	"culprit/daemon/kernel"
)

const (
	// UsualBudget is the share of the machine that we may cost, unless somebody says otherwise.
	UsualBudget = 0.02
	// longestCredit and longestDebt bound what is saved, in seconds of the share: what was long ago does not count. Most is used in the first
	// seconds of a search, and repaid in the minutes that follow.
	longestCredit = 2.0
	longestDebt   = 120.0
	// lossFactor is the throughput that a machine without an idle CPU loses for each CPU second that culprit uses: 2.5 to 4 were measured, with
	// a server and its clients on two CPUs. It is the most of these, since a promise is kept at the end of its range too.
	lossFactor = 4.0
	// idleEnough is the share of all CPU time that must be idle, or our own, for the CPUs not to be busy.
	idleEnough = 0.25
	// busyFor is how often it is found out whether CPUs are busy, firstAsked how long after the beginning, when most is done.
	busyFor    = time.Second
	firstAsked = 200 * time.Millisecond
)

// A Machine is what an Allowance asks of the machine that it is on.
type Machine struct {
	Idle func() float64       // share of all CPU time that was idle since the last call, 0 to 1
	Used func() time.Duration // CPU time that this process has used
	CPUs func() int           // CPUs that are online; 0 if that is not known
}

// ThisMachine is the machine that we run on.
func ThisMachine() Machine {
	var idle kernel.Idle
	cpus := func() int {
		cpus, err := kernel.OnlineCPUs()
		if err != nil {
			return 0
		}
		return len(cpus)
	}
	return Machine{Idle: idle.Share, Used: kernel.OwnTime, CPUs: cpus}
}

// An Allowance says how much CPU time culprit may use now. The zero value is that of a machine that is never busy.
type Allowance struct {
	mu      sync.Mutex
	budget  float64 // share of the machine; UsualBudget if 0
	machine Machine
	cpus    int // at the last look at the machine
	busy    bool

	asked, next time.Time     // when it was found out whether CPUs are busy, and when it will be
	usedAsked   time.Duration // what we had used at asked

	at    time.Time     // of the last entry
	used  time.Duration // what we and our probes had used then
	saved float64       // CPU seconds that may be used; below 0 it is a debt

	inTargets float64 // CPU seconds that probes, and programs in the kernel, have used

	denied float64 // CPU seconds that others would have had: of what we had used at asked, more than CPUs were idle
	part   float64 // of what we used in the last interval, 0 to 1
}

// Begin starts an allowance before anything is done. budget is the share of the machine that we may cost while CPUs are busy; 0 = UsualBudget.
func (a *Allowance) Begin(at time.Time, budget float64, m Machine) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m.Idle()
	a.budget, a.machine, a.cpus = budget, m, m.CPUs()
	a.asked, a.next, a.usedAsked = at, at.Add(firstAsked), m.Used()
}

// Budget is the share of the machine that we may cost while CPUs are busy, and the share of a target's time that probes may take.
func (a *Allowance) Budget() float64 {
	if a.budget > 0 {
		return a.budget
	}
	return UsualBudget
}

// Charge adds CPU seconds that probes, and programs in the kernel, have taken from the targets.
func (a *Allowance) Charge(seconds float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inTargets += seconds
}

// Update finds out once a second whether all CPUs are busy. Call it more often than that.
func (a *Allowance) Update(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.machine.Used == nil || at.Before(a.next) {
		return
	}
	cpus := a.machine.CPUs()
	if cpus == 0 {
		return
	}
	used := a.machine.Used()
	seconds := (used - a.usedAsked).Seconds()
	ours, idle := seconds/(at.Sub(a.asked).Seconds()*float64(cpus)), a.machine.Idle()
	a.cpus, a.busy = cpus, idle+ours < idleEnough
	a.part = max(ours-idle, 0) / max(ours, 1e-9)
	a.denied += seconds * a.part
	a.asked, a.next, a.usedAsked = at, at.Add(busyFor), used
}

// Busy tells that others use all CPUs, as of the last Update.
func (a *Allowance) Busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.busy
}

// Taken is the share of the machine's CPU time, of so many seconds since Begin, that we have used and others would have had, since no CPU was idle. What was
// used since the last Update counts like what was used before it.
func (a *Allowance) Taken(seconds float64) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cpus == 0 {
		return 0
	}
	return (a.denied + (a.machine.Used()-a.usedAsked).Seconds()*a.part) / (float64(a.cpus) * max(seconds, 0.001))
}

// CPUs is how many CPUs are online; 0 if that is not known.
func (a *Allowance) CPUs() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cpus
}

// Remaining is how many CPU seconds we may use now without costing the targets more than the budget's share of the machine. It is below 0
// after we used more than that, and +Inf while some CPU is idle.
func (a *Allowance) Remaining(at time.Time) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cpus == 0 {
		return math.Inf(1)
	}
	a.enter(at)
	if !a.busy {
		return math.Inf(1)
	}
	return a.saved
}

// enter brings saved up to date: it grows by our share of the machine, and shrinks by what we use while CPUs are busy. What we use while one
// is idle costs nobody anything. mu is held.
func (a *Allowance) enter(at time.Time) {
	share := a.Budget() * float64(a.cpus) / lossFactor // in CPUs
	used := a.machine.Used() + time.Duration(a.inTargets*float64(time.Second))
	if !a.at.IsZero() {
		a.saved += at.Sub(a.at).Seconds() * share
		if a.busy {
			a.saved -= (used - a.used).Seconds()
		}
	}
	a.saved = min(max(a.saved, -longestDebt*share), longestCredit*share)
	a.at, a.used = at, used
}

// Overdrawn tells that CPUs are busy, and that we had used more than we may when Remaining was last asked.
func (a *Allowance) Overdrawn() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.busy && a.saved < 0
}
