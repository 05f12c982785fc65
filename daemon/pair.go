package daemon

import (
	"culprit/daemon/children"

	"fmt"

	"golang.org/x/sys/cpu"

	"culprit/daemon/cost"
	"culprit/daemon/patch"
	"culprit/daemon/probe"
	"culprit/daemon/process"
	"culprit/daemon/threads"
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
	axis  gaugeAxis  // of a gauge
	keyed *keyedPair // of a pair that chooses a key, which has parts only in targets that are looked at; else nil
}

// A part is a pair in one target: its compiled plan, its cells and the mini-trampolines that fill them.
type part struct {
	t     *measured
	plan  *pcl.Plan
	meter meter
	owner uint64 // of its groups
	probe.Layout
	tallies map[int]*tally // of the buckets in the last pass, by thread block or under allSlots
	keys    keyTable       // of what is told apart
	gauge   gaugeState
	serves  bool // pairs that choose a key are served from it

	sites  []*patch.Site
	seen   map[int]slotValue // last value by thread block
	use    cost.Use
	readAt float64 // session time at which the cells were last read, or cleared
	ahead  float64 // fraction of the active time that it uses, as predicted when it was first looked at
	total  float64 // growth since it was enabled, where that is the value
	on     bool
	gone   bool    // switched off, to be taken out
	goneAt float64 // when that was
	asks   bool    // its probes make system calls
	needs  func()  // ends what the kernel keeps for it; nil if nothing

	more    float64  // of a thread: what may be its own beside its value
	less    float64  // what of its value may be of others
	leftOut []string // functions that somebody has named and that take no probes, and why, for people

	follows bool // its probes ask what descriptors stand for

	lacking    int            // resources of the focus's item that the target did not have when it was last looked for
	unfinished bool           // what has come of them since could not be patched yet
	lost       bool           // code that it had sites in was unloaded
	unloaded   map[string]int // how often that was seen, by the name of the file
	loads      int            // objects that the target had found when it was last looked for
}

// A slotValue is the last value of a pair in one thread block and whose it was.
type slotValue struct {
	value  uint64
	raw    uint64  // sum without what is in flight
	parked bool    // its thread was parked, and what is in flight left out
	hidden float64 // how much that was, in seconds
	off    uint64  // of a timer of running time: ns off the processor
}

// newPart compiles a pair for a target and reserves its cells; nothing of the target is touched.
func newPart(t *measured, key grid.PairKey, owner uint64) (*part, error) {
	key, serves := plainKey(key)
	if t.onlyLooked() {
		return newLookedPart(t, key, owner)
	}
	plan, err := t.Compile(key)
	if err != nil {
		return nil, err
	}
	if plan.Kind == pcl.Void {
		return nil, countsNothing(key)
	}
	if len(plan.Requests) > 0 {
		t.Contexts.LookFirst()
	}
	if !serves && t.estimates(key, plan) {
		if p, ok, err := newPartLooked(t, key, plan, owner); ok {
			return p, err
		}
	}
	p := newProbePart(t, plan, owner)
	p.serves, p.follows = serves, plan.UsesFiles()
	p.noteLacking()
	if plan.KeptByKernel() {
		p.meter = newKernelMeter(t, plan)
		return p, nil
	}
	if plan.Kind.Holds() && !cpu.X86.HasCX16 {
		return nil, grid.ErrUnsupported{What: key.Metric, Needs: "a CPU with the instruction cmpxchg16b"}
	}
	if p.Rows, err = t.timesRows(plan); err != nil {
		return nil, err
	}
	err = p.reserve()
	if err != nil && t.Text.Waits() {
		p.release()
		if err := t.Stops.Stop(func(w *process.World) error { t.Text.Reclaim(w); return nil }); err != nil {
			return nil, err
		}
		err = p.reserve()
	}
	if err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// newProbePart is a part that is read from thread blocks; nothing is reserved there yet.
func newProbePart(t *measured, plan *pcl.Plan, owner uint64) *part {
	p := &part{t: t, plan: plan, owner: owner, Layout: probe.NewLayout(plan, false), seen: map[int]slotValue{}, tallies: map[int]*tally{}, on: true,
		gauge: gaugeState{sums: map[int]gaugeSum{}, touched: map[int]bool{}, owners: map[int]*threads.Row{}}}
	p.KeyOf, p.meter = p.keyOf, probeMeter{p}
	return p
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

// reserve reserves the words of the part.
func (p *part) reserve() error {
	if err := p.Reserve(&p.t.Cells, p.wantsTable(), p.follows); err != nil {
		return err
	}
	if p.Table != 0 {
		p.keys = keyTable{totals: map[uint64]float64{}, tags: map[uint64]byte{}, slots: map[int]map[uint64]keySum{}, parked: map[int]float64{}}
	}
	return nil
}

func (p *part) release() {
	p.doesNotNeedRows()
	p.meter.Close()
}

// needsCatchUp reports whether threads that are already inside its functions must be told.
func (p *part) needsCatchUp() bool {
	for _, r := range p.plan.Requests {
		for _, in := range r.Code {
			if in.Op == pcl.OpSet && in.Var == 0 && p.plan.Kind.Holds() {
				continue // what it was set to before is not known
			}
			switch in.Op {
			case pcl.OpFlagEnter, pcl.OpTimerEnter, pcl.OpTimerStart, pcl.OpSet:
				return true
			}
		}
	}
	return false
}
