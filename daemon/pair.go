package daemon

import (
	"fmt"

	"golang.org/x/sys/cpu"

	"culprit/daemon/children"
	"culprit/daemon/cost"
	"culprit/daemon/kernelmeter"
	"culprit/daemon/placement"
	"culprit/daemon/probe"
	"culprit/daemon/process"
	"culprit/grid"
	"culprit/pcl"
)

// A pair is one enabled metric-focus pair; it has a part in every target that its focus covers.
type pair struct {
	key   grid.PairKey
	sink  grid.Sink
	tier  grid.Tier
	since float64
	last  float64 // session time of the last value given to the sink
	parts []*part
	late  children.Late
	axis  probe.GaugeAxis // of a gauge
	keyed *keyedPair      // of a pair that chooses a key, which has parts only in targets that are looked at; else nil
}

// A part is a pair in one target: its compiled plan, its cells and the mini-trampolines that fill them.
type part struct {
	t      *measured
	plan   *pcl.Plan
	meter  meter
	probes *probe.Meter   // the meter, if probes measure; else nil
	code   placement.Code // of the probes

	use   cost.Use
	ahead float64 // fraction of the active time that it uses, as predicted when it was first looked at
	total float64 // growth since it was enabled, where that is the value
	on    bool
	gone  bool   // switched off for good
	needs func() // ends what the kernel keeps for it; nil if nothing

	leftOut []string // functions that somebody has named and that take no probes, and why, for people

	lacking    int            // resources of the focus's item that the target did not have when it was last looked for
	unfinished bool           // what has come of them since could not be patched yet
	lost       bool           // code that it had sites in was unloaded
	unloaded   map[string]int // how often that was seen, by the name of the file
	loads      int            // objects that the target had found when it was last looked for
}

// newPart compiles a pair for a target and reserves its cells; nothing of the target is touched.
func newPart(t *measured, key grid.PairKey, owner uint64) (*part, error) {
	key, serves := plainKey(key)
	if t.onlyLooked() {
		return newLookedPart(t, t.sampled, key)
	}
	plan, err := t.Compile(key)
	if err != nil {
		return nil, err
	}
	if plan.Kind == pcl.Void {
		return nil, countsNothing(key)
	}
	if plan.Samples != "" {
		return newLookedPart(t, t.looksAtWaits(), key)
	}
	if len(plan.Requests) > 0 {
		t.Sites.Look()
	}
	if !serves && t.estimates(key, plan) {
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
	rows, err := t.d.clocks.Map(t.Target, plan)
	if err != nil {
		return nil, err
	}
	p := newProbePart(t, plan, owner, probe.Options{Serves: serves, Files: plan.UsesFiles()}, rows)
	p.noteLacking()
	err = p.probes.Reserve()
	if err != nil && t.Text.Waits() {
		p.Release()
		if err := t.Stops.Stop(func(w *process.World) error { t.Text.Reclaim(w); return nil }); err != nil {
			return nil, err
		}
		err = p.probes.Reserve()
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// newProbePart is a part that probes measure; nothing is reserved there yet.
func newProbePart(t *measured, plan *pcl.Plan, owner uint64, o probe.Options, rows bool) *part {
	p := &part{t: t, plan: plan, on: true, probes: probe.New(t.blocks, plan, rows, o)}
	p.meter, p.code = p.probes, placement.Code{Target: t.Target, Meter: p.probes, Owner: p, Group: owner}
	return p
}

// newMeteredPart is a part without probes.
func newMeteredPart(t *measured, plan *pcl.Plan, m meter) *part {
	p := &part{t: t, plan: plan, on: true, meter: m}
	p.noteLacking()
	return p
}

// price works out how many CPUs the probes took since the last pass: executions times calibrated time.
func (p *part) price(interval float64) (cpus float64) {
	if p.probes == nil {
		return 0
	}
	each, followed, ok := p.probes.Executions()
	if !ok {
		return 0
	}
	if !p.use.Priced() {
		p.use.Price(&p.t.d.prices, p.plan, p.rows())
		p.ahead = p.t.d.predict(p)
	}
	p.use.Count(each, followed, interval)
	return p.use.CPUs
}

// begin takes the readings from which the part grows.
func (p *part) begin() {
	p.meter.Begin()
	if p.probes != nil {
		each, followed, _ := p.probes.Executions()
		p.use.Begin(each, followed)
	}
}

// rows reports whether its probes read the kernel's rows.
func (p *part) rows() bool { return p.probes != nil && p.probes.Rows }

// newBareProbe is a part of a plan that belongs to no pair; its words are reserved. d.mu is held.
func (d *Daemon) newBareProbe(t *measured, plan *pcl.Plan) (*part, error) {
	d.owner++
	p := newProbePart(t, plan, d.owner, probe.Options{}, false)
	if err := p.probes.Reserve(); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// noteLacking notes what of the focus's item the target does not have.
func (p *part) noteLacking() {
	if it := p.t.ItemOf(p.plan.Pair.Focus); it != nil {
		p.lacking = p.t.Lacking(it)
	}
}

// countsNothing refuses a pair of a metric that only its replacements count.
func countsNothing(key grid.PairKey) error {
	return grid.ErrUnsupported{What: fmt.Sprintf("%s at %v", key.Metric, key.Focus), Needs: "a focus for which a constraint replaces the base, which counts nothing"}
}

// A meter is how the value of a part is come by: probes count and time it (probe.Meter), stack samples estimate it (sampleMeter), or the kernel
// keeps it anyway (kernelmeter.Meter).
type meter interface {
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
