package grid

// A PairKey names one cell of the grid: a metric constrained to a focus.
// It is comparable and is the same text on every run.
type PairKey struct {
	Metric string
	Focus  Focus
}

// String writes the pair as the command line does: "METRIC@FOCUS".
func (k PairKey) String() string { return k.Metric + "@" + k.Focus.String() }

// A Tier says where the values of a pair come from.
type Tier string

// The tiers, from exact to estimated.
const (
	TierProbe  Tier = "probe"  // trampolines in the target; counters are exact
	TierKernel Tier = "kernel" // accounting that the kernel keeps anyway (/proc)
	TierSample Tier = "sample" // stack samples; an estimate
)

// Weaker is the one of two tiers that limits what can be said: an estimate before a count, a count before what the kernel keeps.
func (t Tier) Weaker(b Tier) Tier {
	for _, w := range []Tier{TierSample, TierProbe, TierKernel} {
		if t == w || b == w {
			return w
		}
	}
	return b
}

// A Price is what measuring a pair costs the target.
type Price struct {
	// Fraction of the target's active time that the probes of the pair would use, 0 or more.
	Fraction float64
	// Shared is the fraction that eBPF accounting takes besides, which the pair needs, 0 or more. It is paid once, however many
	// pairs share it.
	Shared float64
	// Rate of executions of all its points together, per second, as measured (not guessed); 0 of a process that hardly runs.
	Rate float64
	// Points is how many points would be instrumented, those of processes left out that do not run.
	Points int
}

// A Sink takes values as they are sampled. Times are seconds since the session started.
// For an EventCounter the value is the growth over (start, end]; for a SampledFunction it is the value itself.
// A Sink may be called from any goroutine, but for one key always in order of time.
type Sink interface {
	Sample(key PairKey, start, end, value float64)
}

// A HeldSink is a Sink that takes gauges too: what they were over (start, end]. Start and end are exact, so that a mean over many
// intervals is as exact as those of the intervals.
type HeldSink interface {
	Sink
	Hold(key PairKey, start, end float64, v Held)
}

// A DistributionSink is a Sink that takes distributions too: for metrics that have Values, what came into the buckets over
// (start, end]. Growth belongs to the caller again when Distribute returns.
type DistributionSink interface {
	Sink
	Distribute(key PairKey, start, end float64, growth *Distribution)
}

// An EnableResult tells how enabling one pair went.
type EnableResult struct {
	Key   PairKey
	Tier  Tier
	Since float64 // s since session start from which values are complete
	Err   error   // nil; or why it is not measured (ErrRefused, ErrDeferred, ErrUnsupported, ...)
}

// An Instrumenter measures pairs: the daemon is one. All requests of one call are inserted or removed in one batch.
// Methods may be called from any goroutine.
type Instrumenter interface {
	// Price measures call rates where they are not known (which takes about 100 ms for the whole batch) and predicts costs.
	Price(keys []PairKey) ([]Price, []error)
	// Enable starts to measure the pairs; values go to sink until Disable.
	Enable(keys []PairKey, sink Sink) []EnableResult
	// Disable stops. Values up to now reach the sink before it returns.
	Disable(keys []PairKey)
	// ObservedCost is the fraction of the target's active time that all enabled probes, and what the kernel keeps for them, used over the
	// last second or so.
	ObservedCost() float64
	// Costs are the fractions of the target's active time that the probes of single pairs took when that was last looked at, which is soon
	// after they were inserted. Pairs below LeastCost are left out.
	Costs() map[PairKey]float64
}

// LeastCost is the least fraction of the target's active time that is told of a single pair.
const LeastCost = 0.001

// An Axis says how a focus is refined by one step along a hierarchy.
// Along Code the steps follow the call graph (from the whole program to main and the thread roots, from a function to its
// callees, with indirect callees as far as they have been seen at run time); along the others they follow the resource tree.
type Axis interface {
	Refinements(f Focus, h Hierarchy) []Focus
	// Weight is the share (0..1) of recent stack samples that support the focus; 0 if none was seen or no samples are taken, below 0 if they
	// do not tell that focus from others.
	// kind is "cpu" (samples of running threads), "system_call" or "page_fault" (those of them in the kernel for that), "sync" or "io" (samples of
	// threads blocked there).
	Weight(f Focus, kind string) float64
}
