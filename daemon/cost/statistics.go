package cost

import "culprit/pcl"

// Per-thread statistics cost nothing where a probe reads them, and something wherever a thread is switched: most of all in servers that answer
// small requests, whose threads come and go a hundred thousand times a second. What is seldom called is timed for less there by
// clock_gettime, and the price of everything else has what the statistics take.

const (
	// statisticsMatter is the share of the budget that per-thread statistics must take for a pair to do without them.
	statisticsMatter = 0.1
	// switchTime is what the eBPF programs that keep them take for each time that a thread of a target is put on a CPU and leaves it, as the
	// kernel itself counts it on a virtual machine, in seconds: two runs where others are switched to in between.
	switchTime = 0.45e-6
)

// Statistics is how many CPUs it takes to keep statistics of threads that are put on a CPU so many times a second.
func Statistics(switches float64) float64 { return switches * switchTime }

// Clocks are the figures by which a pair that times CPU time gets its clock.
type Clocks struct {
	Statistics float64 // CPUs that statistics take of all targets that have them, and of those that would get them for the pair
	Budget     float64 // share of the targets' time that measuring may take
	Active     float64 // seconds that the targets have for their work in a second
}

// Matter tells whether the statistics take so much that the pair may do without them.
func (c Clocks) Matter() bool { return c.Statistics > statisticsMatter*c.Budget*c.Active }

// Ask tells whether the pair is to call clock_gettime, which takes so many CPUs more than to read statistics.
func (c Clocks) Ask(more float64) bool { return c.Matter() && more < c.Statistics }

// Share is the share of the targets' time that the statistics take.
func (c Clocks) Share() float64 { return c.Statistics / c.Active }

// Asking is how many CPUs more the probes of a plan take if they call clock_gettime (ns by request) instead of reading statistics (likewise), by
// the rates of the functions; ok is false if one of them was never counted.
func Asking(plan *pcl.Plan, asking, reading []float64, rates *Rates) (cpus float64, ok bool) {
	for i := range plan.Requests {
		rate, counted := rates.Of(plan.Requests[i].Func)
		if !counted {
			return 0, false
		}
		cpus += rate * (asking[i] - reading[i]) * InProgram(plan) / 1e9
	}
	return cpus, true
}
