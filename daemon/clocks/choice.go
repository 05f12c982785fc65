package clocks

import (
	"iter"
	"math"
	"sync/atomic"

	"culprit/daemon/cost"
	"culprit/daemon/probe"
	"culprit/daemon/selfcost"
	"culprit/daemon/target"
	"culprit/daemon/targetstats"
	"culprit/grid"
	"culprit/pcl"
)

// maxAsking is how many pairs are known whose probes call clock_gettime; they are priced again when there were more.
const maxAsking = 10000

// A Target is one process that is measured.
type Target struct {
	*target.Target
	Rates *cost.Rates // of the calls of its functions
	Ended bool
}

// A Plan is a pair in one target.
type Plan struct {
	Target Target
	Plan   *pcl.Plan
}

// A Config is what a Choice is made with. All of it is needed.
type Config struct {
	Targets   iter.Seq[Target] // all of them
	Allowance *selfcost.Allowance
	Prices    *cost.Executions
	Programs  *targetstats.Programs
}

// A Choice chooses for the targets of a session.
type Choice struct {
	Config
	switches atomic.Uint64         // the bits of a float64: how often a second threads are put on a CPU, in all targets together
	asking   map[grid.PairKey]bool // whose probes call clock_gettime although there may be statistics to read
}

// New is a choice that was not made for any pair.
func New(c Config) *Choice { return &Choice{Config: c, asking: map[grid.PairKey]bool{}} }

// CountSwitches sums up over the targets. It is called after each pass.
func (c *Choice) CountSwitches() {
	sum := 0.0
	for t := range c.Targets {
		if !t.Ended {
			sum += t.Threads.Switches()
		}
	}
	c.switches.Store(math.Float64bits(sum))
}

// Switches is how often a second threads are put on a CPU, in all targets together.
func (c *Choice) Switches() float64 { return math.Float64frombits(c.switches.Load()) }

// take is what statistics of a target take while they are kept, in CPUs.
func take(t Target) float64 {
	if t.Ended {
		return 0
	}
	return cost.Statistics(t.Threads.Switches())
}

// taken is what they take of all targets of which they are kept.
func (c *Choice) taken() (cpus float64) {
	for t := range c.Targets {
		if t.Stats.IsKept() {
			cpus += take(t)
		}
	}
	return cpus
}

// Taken is how many CPUs statistics take at present.
func (c *Choice) Taken() float64 {
	if !c.Programs.Running() {
		return 0
	}
	return c.taken()
}

// TimeOfTargets is how much time the targets have for their work, in seconds per second, 1 at least: that of all threads that are not idle, and while
// no CPU is idle no more than that of all CPUs.
func (c *Choice) TimeOfTargets() (active float64) {
	for t := range c.Targets {
		active += t.Threads.Active()
	}
	if c.Allowance.Busy() {
		active = min(active, float64(c.Allowance.CPUs()))
	}
	return max(active, 1)
}

// tooDear tells that statistics of all targets would take more than the whole budget.
func (c *Choice) tooDear() bool {
	return cost.Statistics(c.Switches()) > c.Allowance.Budget()*c.TimeOfTargets()
}

// Choose decides for a pair, by its plans, whether its probes read statistics or call clock_gettime for CPU time. It returns what statistics would
// take for it, as a fraction of the targets' time.
func (c *Choice) Choose(plans []Plan) (kept float64) {
	cpus, reads := c.taken(), false
	for _, p := range plans {
		if cpu, kernel := targetstats.ReadBy(p.Plan); (cpu || kernel) && c.mayRead(p.Target.Target) {
			reads = true
			if !p.Target.Stats.IsKept() {
				cpus += take(p.Target)
			}
		}
	}
	if !reads {
		return 0
	}
	pair := plans[0].Plan.Pair
	delete(c.asking, pair)
	clocks := cost.Clocks{Statistics: cpus, Budget: c.Allowance.Budget(), Active: c.TimeOfTargets()}
	if clocks.Matter() {
		if more, may := c.askingTakes(plans); may && clocks.Ask(more) {
			c.Ask(pair)
			return 0
		}
	}
	return clocks.Share()
}

// askingTakes is how many CPUs more the probes of plans take if each calls clock_gettime. may is false if one of them must not, or if it is not
// known how often a function is called.
func (c *Choice) askingTakes(plans []Plan) (cpus float64, may bool) {
	for _, p := range plans {
		if _, kernel := targetstats.ReadBy(p.Plan); kernel || p.Target.Seccomp != 0 {
			return 0, false
		}
		more, known := cost.Asking(p.Plan, c.Prices.Each(p.Plan, false), c.Prices.Each(p.Plan, true), p.Target.Rates)
		if !known {
			return 0, false
		}
		cpus += more
	}
	return cpus, true
}

// Ask notes that the probes of a pair are to call clock_gettime: also those that come later, in processes that begin.
func (c *Choice) Ask(pair grid.PairKey) {
	if len(c.asking) >= maxAsking {
		c.asking = map[grid.PairKey]bool{}
	}
	c.asking[pair] = true
}

// asks tells that a plan's probes call clock_gettime although they might read statistics.
func (c *Choice) asks(t *target.Target, plan *pcl.Plan) bool {
	return c.asking[plan.Pair] && t.Seccomp == 0
}

// Map decides whether a plan is to read statistics of a target, and makes them ready there.
func (c *Choice) Map(t *target.Target, plan *pcl.Plan) (reads bool, err error) {
	cpu, kept := targetstats.ReadBy(plan)
	if !cpu && !kept || !kept && c.asks(t, plan) && probe.MayAsk(t, probe.TimingCPU) == nil {
		return false, nil
	}
	err = t.Stats.Map(t.Stops.Stop)
	if kept && err != nil {
		return false, targetstats.Refused(plan, err)
	}
	return err == nil, nil
}

// Reads tells whether the probes of a plan would read statistics of a target; nothing of it is touched.
func (c *Choice) Reads(t *target.Target, plan *pcl.Plan) bool {
	cpu, kept := targetstats.ReadBy(plan)
	return kept || cpu && !c.asks(t, plan) && c.mayRead(t)
}

// mayRead tells whether a target has statistics, or would as far as that is known.
func (c *Choice) mayRead(t *target.Target) bool {
	switch {
	case !t.Stats.MayBeMapped():
		return false
	case t.Stats.IsMapped(), c.tooDear():
		return true // in the second case nobody needs to know
	}
	return c.Programs.Open() == nil
}
