package estimate

import (
	"math"
	"strings"

	"culprit/daemon/kernel"
	"culprit/daemon/sampling"
	"culprit/grid"
	"culprit/pcl"
)

// A Meter estimates a timer from stack samples.
type Meter struct {
	s      *Times
	plan   *pcl.Plan
	clock  int
	code   map[pcl.FuncID][]*pcl.Request // in the order in which they would run
	mode   kernel.Mode                   // in which a thread must run; of page faults it may wait as well; unknown = any
	object string                        // lock or file that a thread has to wait for, or its kind, as the profile names it; "" = any
	growth float64                       // s since the last pass
	own    weight
	before weight // of all samples when it began
}

// NewMeter makes the meter of a plan that Tells accepts, which counts from Begin on. object is the lock or file that the focus names, as
// Times.Compile has it.
func NewMeter(s *Times, plan *pcl.Plan, object string) *Meter {
	m := &Meter{s: s, plan: plan, object: object, clock: clockOf(plan)}
	if plan.Kind == pcl.Kernel {
		m.mode = kernelModes[plan.KernelName]
	}
	m.index()
	return m
}

// isWhole tells that the timer runs wherever a thread is.
func (m *Meter) isWhole() bool { return m.plan.Kind == pcl.Kernel && len(m.plan.Vars) == 0 }

// Tier implements the daemon's meter.
func (m *Meter) Tier() grid.Tier { return grid.TierSample }

// Begin has samples counted from now on.
func (m *Meter) Begin() { m.s.follow(m) }

// Close ends that; without it all later samples are held against the plan.
func (m *Meter) Close() { m.s.forget(m) }

// Grown is for how many seconds the timer ran, by what was given to samples since it was last asked.
func (m *Meter) Grown(float64) (growth float64) {
	growth, m.growth = m.growth, 0
	return growth
}

// Adopt takes a plan that asks for more than the meter's own.
func (m *Meter) Adopt(plan *pcl.Plan) bool {
	before := m.before
	m.s.forget(m)
	m.plan.Requests = plan.Requests
	m.index()
	m.s.follow(m)
	m.before = before
	return true
}

// index sorts the requests by function.
func (m *Meter) index() {
	m.code = map[pcl.FuncID][]*pcl.Request{}
	for i := range m.plan.Requests {
		r := &m.plan.Requests[i]
		m.code[r.Func] = append(m.code[r.Func], r)
	}
}

// counts reports whether the timer runs at a sample.
func (m *Meter) counts(x *sampling.Sample) bool {
	switch {
	case x.Blocked && m.clock == clockCPU, x.Idle && m.plan.ExcludeParked, !m.covers(x.TID):
		return false
	case m.mode != kernel.UnknownMode && !m.inMode(x):
		return false
	case m.plan.Samples != "" && m.plan.Samples != "running" && !(x.Blocked && sampling.KindNamed(x.Kind, m.plan.Samples)):
		return false
	case m.object != "" && m.object != x.Object && !strings.HasPrefix(x.Object, m.object+"/"):
		return false
	}
	return m.Runs(x)
}

// inMode reports whether a thread was in the kernel for what the meter is about. One that is blocked and in no system call waits in a fault.
func (m *Meter) inMode(x *sampling.Sample) bool {
	if x.Blocked {
		return m.mode == kernel.FaultMode && x.Call.NR < 0
	}
	return x.Mode == m.mode
}

// covers reports whether the plan covers a thread; one of a pair without thread or process focus covers all, dead ones too.
func (m *Meter) covers(tid int) bool {
	return m.plan.Thread == "" || tid != 0 && m.s.t.Threads.Is(tid, m.plan.Thread)
}

// Variance is the square of the standard error of what the meter has counted, in seconds squared; ok is false before the first sample.
// Samples are taken for independent, which overrates the error where a thread stays in one place for long. One sample more
// than there were is reckoned, so that what was never seen is not taken to be certainly nothing.
func (m *Meter) Variance() (v float64, ok bool) {
	total := m.s.total[m.clock]
	n, sum := total.n-m.before.n, total.sum-m.before.sum
	if n < 1 {
		return 0, false
	}
	mean := sum / n
	share := min((m.own.sum+mean)/(sum+2*mean+math.SmallestNonzeroFloat64), 1)
	return (m.own.squares + mean*mean) * (1 - share), true
}
