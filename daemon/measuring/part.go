package measuring

import (
	"fmt"

	"golang.org/x/sys/cpu"

	"culprit/daemon/cost"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/placement"
	"culprit/daemon/probe"
	"culprit/daemon/process"
	"culprit/grid"
	"culprit/pcl"
)

// IsMeasured tells that the part is more than what the kernel keeps for everybody.
func (pt *Part) IsMeasured() bool {
	if m, ok := pt.Meter.(*kernelmeter.Meter); ok && m.NeedsStatistics() {
		return true
	}
	return len(pt.Sites()) > 0 || pt.needs != nil || pt.ReadsStatistics() || pt.Meter.Tier() == grid.TierSample
}

// A Part is a pair in one target: its compiled plan, its cells and the mini-trampolines that fill them.
type Part struct {
	Process *Process
	Plan    *pcl.Plan
	Meter   Meter
	Probes  *probe.Meter   // the meter, if probes measure; else nil
	Code    placement.Code // of the probes

	reading  reading
	pricedAt float64 // session time

	use   cost.Use
	Ahead float64 // fraction of the active time that it uses, as predicted when it was first looked at
	Total float64 // growth since it was enabled, where that is the value
	On    bool    // its code is not jumped over
	Gone  bool    // switched off for good
	needs func()  // ends what the kernel keeps for it; nil if nothing

	LeftOut []string // functions that somebody has named and that take no probes, and why, for people

	Lacking    int            // resources of the focus's item that the target did not have when it was last looked for
	Unfinished bool           // what has come of them since could not be patched yet
	lost       bool           // code that it had sites in was unloaded
	Unloaded   map[string]int // how often that was seen, by the name of the file
	loads      int            // objects that the target had found when it was last looked for
}

// NewPart compiles a pair for a target and reserves its cells; nothing of the target is touched. serves says that other pairs are read out of what
// it keeps by key.
func NewPart(t *Process, key grid.PairKey, serves bool, owner uint64) (*Part, error) {
	if t.OnlyLooked() {
		return newLookedPart(t, t.Sampled(), key)
	}
	plan, err := t.Compile(key)
	if err != nil {
		return nil, err
	}
	if plan.Kind == pcl.Void {
		return nil, countsNothing(key)
	}
	if plan.Samples != "" {
		return newLookedPart(t, t.tells(plan), key)
	}
	if t.LooksAtWaits(key, plan) {
		return newLookedPart(t, t.looksAtWaits(), key)
	}
	if len(plan.Requests) > 0 {
		t.Sites.Look()
	}
	if !serves && t.Estimates(key, plan) {
		if p, ok, err := newPartLooked(t, key, plan); ok {
			return p, err
		}
	}
	if plan.KeptByKernel() {
		return newMeteredPart(t, plan, kernelmeter.New(t.kept, plan)), nil
	}
	if plan.Kind.Holds() && !cpu.X86.HasCX16 {
		return nil, grid.ErrUnsupported{What: key.Metric, Needs: "a CPU with the instruction cmpxchg16b"}
	}
	rows, err := t.Common.Clocks.Map(t.Target, plan)
	if err != nil {
		return nil, err
	}
	p := NewProbes(t, plan, owner, probe.Options{Serves: serves, Files: plan.UsesFiles()}, rows)
	p.noteLacking()
	err = p.Probes.Reserve()
	if err != nil && t.Text.Waits() {
		p.Release()
		if err := t.Stops.Stop(func(w *process.World) error { t.Text.Reclaim(w); return nil }); err != nil {
			return nil, err
		}
		err = p.Probes.Reserve()
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// NewProbes is a part that probes measure; nothing is reserved there yet.
func NewProbes(t *Process, plan *pcl.Plan, owner uint64, o probe.Options, rows bool) *Part {
	p := &Part{Process: t, Plan: plan, On: true, Probes: probe.New(t.Blocks, plan, rows, o)}
	p.Meter, p.Code = p.Probes, placement.Code{Target: t.Target, Meter: p.Probes, Owner: p, Group: owner}
	return p
}

// newMeteredPart is a part without probes.
func newMeteredPart(t *Process, plan *pcl.Plan, m Meter) *Part {
	p := &Part{Process: t, Plan: plan, On: true, Meter: m}
	p.noteLacking()
	return p
}

// Begin takes the readings from which the part grows, at a session time.
func (p *Part) Begin(now float64) {
	p.On, p.reading, p.pricedAt = true, reading{at: now}, now
	p.Meter.Begin()
	if p.Probes != nil {
		each, followed, _ := p.Probes.Executions()
		p.use.Begin(each, followed)
	}
}

// ReadsStatistics reports whether its probes read the kernel's rows.
func (p *Part) ReadsStatistics() bool { return p.Probes != nil && p.Probes.Rows }

// noteLacking notes what of the focus's item the target does not have.
func (p *Part) noteLacking() {
	if it := p.Process.ItemOf(p.Plan.Pair.Focus); it != nil {
		p.Lacking = p.Process.Lacking(it)
	}
}

// countsNothing refuses a pair of a metric that only its replacements count.
func countsNothing(key grid.PairKey) error {
	return grid.ErrUnsupported{What: fmt.Sprintf("%s at %v", key.Metric, key.Focus), Needs: "a focus for which a constraint replaces the base, which counts nothing"}
}

// A Meter is how the value of a part is come by: probes count and time it (probe.Meter), stack samples estimate it (estimate.Meter), or the kernel
// keeps it anyway (kernelmeter.Meter).
type Meter interface {
	Tier() grid.Tier
	// Begin takes the reading from which the value grows.
	Begin()
	// Grown is by how much the value has grown since the reading before, interval seconds ago, in the metric's unit; of a sampled function it
	// is the value itself.
	Grown(interval float64) float64
	// Adopt takes a plan that asks for more than the part's own, without a change of the target. False where that needs one.
	Adopt(plan *pcl.Plan) bool
	// Variance is the square of the standard error of all that has grown since Begin; false where the value is exact, or not known yet.
	Variance() (v float64, ok bool)
	// Close gives back what is kept for the part.
	Close()
}
