package daemon

import (
	"fmt"
	"slices"

	"golang.org/x/sys/cpu"

	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
)

// A pair is one enabled metric-focus pair; it has a part in every target that its focus covers.
type pair struct {
	key   grid.PairKey
	sink  grid.Sink
	tier  grid.Tier
	since float64
	last  float64 // session time of the last value given to the sink
	parts []*part
	late  lateJoins
	axis  gaugeAxis  // of a gauge
	keyed *keyedPair // of a pair that chooses a key, which has parts only in targets that are looked at; else nil
}

// A part is a pair in one target: its compiled plan, its cells and the mini-trampolines that fill them.
type part struct {
	t       *measured
	plan    *pcl.Plan
	meter   meter
	owner   uint64 // of its groups
	cells   []cellVar
	buckets int32          // of the distribution of its values; 0 if it has none
	tallies map[int]*tally // of the buckets in the last pass, by thread block or under allSlots
	keys    keyTable       // of what is told apart
	gauge   gaugeState
	serves  bool  // pairs that choose a key are served from it
	hits    int32 // cell that counts executions, for the price; -1 if the metric's own word does

	sites  []*patch.Site
	seen   map[int]slotValue // last value by thread block
	hit    uint64            // last sum of hits
	readAt float64           // session time at which the cells were last read, or cleared
	ns     float64           // price of one execution, or notPriced
	spent  float64           // fraction of the active time that it used in the last interval
	ahead  float64           // the same as it was predicted when the part was first looked at
	total  float64           // growth since it was enabled, where that is the value
	on     bool
	gone   bool    // switched off, to be taken out
	goneAt float64 // when that was
	asks   bool    // its probes make system calls
	rows   bool    // its probes read the kernel's rows

	needs bool // the kernel keeps something for it

	more    float64  // of a thread: what may be its own beside its value
	less    float64  // what of its value may be of others
	leftOut []string // functions that somebody has named and that take no probes, and why, for people

	follows bool // its probes ask what descriptors stand for
	keeping keeping

	lacking    int            // resources of the focus's item that the target did not have when it was last looked for
	unfinished bool           // what has come of them since could not be patched yet
	lost       bool           // code that it had sites in was unloaded
	unloaded   map[string]int // how often that was seen, by the name of the file
	loads      int            // objects that the target had found when it was last looked for
}

// notPriced is the price of a part that no pass has seen yet: those who wait for many pairs must not wait for their prices.
const notPriced = -1

// A cellVar is a variable of a plan in the thread blocks.
type cellVar struct {
	off, size  int32
	kind       pcl.Kind
	activation bool // a flag that holds a stack pointer
	rows       bool // a timer that reads the thread's row
}

// A slotValue is the last value of a pair in one thread block and whose it was.
type slotValue struct {
	value  uint64
	raw    uint64  // sum without what is in flight
	parked bool    // its thread was parked, and what is in flight left out
	hidden float64 // how much that was, in seconds
	off    uint64  // of a timer of running time: ns off the processor
	owner  uint64  // of a row: its thread pointer
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
	if len(plan.Requests) > 0 && !t.contexts.looked {
		t.lookFirst()
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
	if p.rows, err = t.timesRows(plan); err != nil {
		return nil, err
	}
	err = p.reserve()
	if err != nil && t.Text.Waits() {
		p.release()
		if err := t.stop(func(w *process.World) error { t.Text.Reclaim(w); return nil }); err != nil {
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
	p := &part{t: t, plan: plan, owner: owner, hits: -1, seen: map[int]slotValue{}, tallies: map[int]*tally{}, on: true,
		gauge: gaugeState{sums: map[int]gaugeSum{}, touched: map[int]bool{}, owners: map[int]*threads.Row{}}}
	p.meter = probeMeter{p}
	return p
}

// noteLacking notes what of the focus's item the target does not have.
func (p *part) noteLacking() {
	if it := p.t.d.itemOf(p.plan.Pair.Focus); it != nil {
		p.lacking = p.t.Lacking(it)
	}
}

// countsNothing refuses a pair of a metric that only its replacements count.
func countsNothing(key grid.PairKey) error {
	return grid.ErrUnsupported{What: fmt.Sprintf("%s at %v", key.Metric, key.Focus), Needs: "a focus for which a constraint replaces the base, which counts nothing"}
}

func (p *part) reserve() error {
	for i, v := range p.plan.Vars {
		c := p.cellVar(i, v.Kind)
		var err error
		if c.off, err = p.t.Cells.Alloc(c.size); err != nil {
			return err
		}
		p.cells = append(p.cells, c)
	}
	if p.plan.Distribution {
		var err error
		if p.buckets, err = p.t.Cells.AllocBuckets(); err != nil {
			return err
		}
	}
	if err := p.reserveTable(); err != nil {
		return err
	}
	if p.countsItself() {
		return nil
	}
	off, err := p.t.Cells.Alloc(trampoline.WordSize)
	if err == nil {
		p.hits = off
		err = p.reserveKeeping()
	}
	return err
}

// cellVar is the cell that variable i of the plan needs.
func (p *part) cellVar(i int, kind pcl.Kind) cellVar {
	c := cellVar{size: trampoline.WordSize, kind: kind, activation: p.isActivationFlag(i), rows: p.rows && (kind == pcl.ProcessTimer || kind == pcl.Kernel)}
	switch {
	case c.rows && kind == pcl.ProcessTimer:
		c.size = trampoline.RunTimerSize
	case kind.Holds():
		c.size = trampoline.GaugeSize
	case kind != pcl.Counter:
		c.size = trampoline.TimerSize
	}
	return c
}

func (p *part) release() {
	p.doesNotNeedRows()
	p.meter.Close()
}

// words are all that the part has in each thread block.
func (p *part) words() []cellVar {
	cells := slices.Clone(p.cells)
	if p.hits >= 0 {
		cells = append(cells, cellVar{off: p.hits, size: trampoline.WordSize})
	}
	if p.buckets != 0 {
		cells = append(cells, cellVar{off: p.buckets, size: trampoline.BucketsSize})
	}
	if p.keys.cell != 0 {
		cells = append(cells, cellVar{off: p.keys.cell, size: trampoline.TableSize})
	}
	if p.keeping.cell != 0 {
		cells = append(cells, cellVar{off: p.keeping.cell, size: trampoline.WordSize})
	}
	return cells
}

// countsItself reports whether the metric's own word already says how often its code ran.
func (p *part) countsItself() bool {
	if p.plan.Kind.Holds() {
		return false
	}
	for _, r := range p.plan.Requests {
		if len(r.Guards) > 0 || len(r.Code) != 1 {
			return false
		}
		in := r.Code[0]
		if in.Op != pcl.OpAdd || in.Cond != nil || in.Expr == nil || in.Expr.Op != pcl.ExConst || in.Expr.Value != 1 {
			return false
		}
	}
	return true
}

func (p *part) isActivationFlag(v int) bool {
	for _, r := range p.plan.Requests {
		for _, in := range r.Code {
			if in.Var == v && in.Op == pcl.OpFlagEnter {
				return true
			}
		}
	}
	return false
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

// minis translates a request to primitives on cells.
func (p *part) minis(r *pcl.Request) (ms []trampoline.Mini, err error) {
	var guards []trampoline.Guard
	for _, v := range r.Guards {
		guards = append(guards, trampoline.Guard{Cell: p.cells[v].off, Activation: p.cells[v].activation})
	}
	if cell := p.hitsOf(r); cell >= 0 {
		ms = append(ms, trampoline.Mini{Op: trampoline.Add, Cell: cell, Expr: &trampoline.Expr{Value: 1}})
	}
	for _, in := range r.Code {
		m := trampoline.Mini{Op: p.op(in), Guards: guards}
		if in.Op != pcl.OpCall && p.cells[in.Var].rows {
			m.Row = quantityOf(p.plan).Offset()
		}
		if in.Op != pcl.OpCall {
			m.Cell = p.cells[in.Var].off
			m.Shared = p.cells[in.Var].kind == pcl.Gauge
		}
		if in.Op != pcl.OpCall && in.Var == 0 {
			m.Buckets = p.buckets
			if p.keys.cell != 0 {
				m.Table, m.Key = p.keys.cell, p.cells[p.plan.By].off
			}
		}
		if m.Expr, err = p.expr(in.Expr); err != nil {
			return nil, err
		}
		if m.Cond, err = p.expr(in.Cond); err != nil {
			return nil, err
		}
		p.tag(&m, in, r.Func)
		ms = append(ms, m)
	}
	return ms, nil
}

var plainOps = map[pcl.Op]trampoline.Op{pcl.OpAdd: trampoline.Add, pcl.OpSet: trampoline.Set, pcl.OpCall: trampoline.Do,
	pcl.OpFlagEnter: trampoline.FlagEnter, pcl.OpFlagLeave: trampoline.FlagLeave}
var gaugeOps = map[pcl.Op]trampoline.Op{pcl.OpAdd: trampoline.GaugeAdd, pcl.OpSet: trampoline.GaugeSet}
var wallOps = map[pcl.Op]trampoline.Op{pcl.OpTimerEnter: trampoline.WallEnter, pcl.OpTimerLeave: trampoline.WallLeave,
	pcl.OpTimerStart: trampoline.WallStart, pcl.OpTimerStop: trampoline.WallStop}
var cpuOps = map[pcl.Op]trampoline.Op{pcl.OpTimerEnter: trampoline.CPUEnter, pcl.OpTimerLeave: trampoline.CPULeave,
	pcl.OpTimerStart: trampoline.CPUStart, pcl.OpTimerStop: trampoline.CPUStop}
var runOps = map[pcl.Op]trampoline.Op{pcl.OpTimerEnter: trampoline.RunEnter, pcl.OpTimerLeave: trampoline.RunLeave,
	pcl.OpTimerStart: trampoline.RunStart, pcl.OpTimerStop: trampoline.RunStop}
var rowOps = map[pcl.Op]trampoline.Op{pcl.OpTimerEnter: trampoline.RowEnter, pcl.OpTimerLeave: trampoline.RowLeave,
	pcl.OpTimerStart: trampoline.RowStart, pcl.OpTimerStop: trampoline.RowStop}

func (p *part) op(in pcl.Instr) trampoline.Op {
	if op, ok := gaugeOps[in.Op]; ok && p.cells[in.Var].kind.Holds() {
		return op
	}
	if op, ok := plainOps[in.Op]; ok {
		return op
	}
	ops := wallOps
	switch c := p.cells[in.Var]; {
	case c.kind == pcl.Kernel:
		ops = rowOps
	case c.kind == pcl.ProcessTimer && c.rows:
		ops = runOps
	case c.kind == pcl.ProcessTimer:
		ops = cpuOps
	}
	op, ok := ops[in.Op]
	if !ok {
		panic(fmt.Sprintf("BUG: primitive %d has no code", in.Op))
	}
	return op
}

var exprOps = map[pcl.ExprOp]trampoline.ExprOp{pcl.ExConst: trampoline.ExConst, pcl.ExArg: trampoline.ExArg, pcl.ExReturn: trampoline.ExReturn, pcl.ExCallee: trampoline.ExCallee,
	pcl.ExVar: trampoline.ExWord, pcl.ExAdd: trampoline.ExAdd, pcl.ExSub: trampoline.ExSub, pcl.ExMul: trampoline.ExMul, pcl.ExEq: trampoline.ExEq,
	pcl.ExNe: trampoline.ExNe, pcl.ExLt: trampoline.ExLt, pcl.ExLe: trampoline.ExLe, pcl.ExGt: trampoline.ExGt, pcl.ExGe: trampoline.ExGe,
	pcl.ExAnd: trampoline.ExAnd, pcl.ExOr: trampoline.ExOr, pcl.ExNeg: trampoline.ExNeg,
	pcl.ExDiv: trampoline.ExDiv, pcl.ExAddr: trampoline.ExAddr, pcl.ExCall: trampoline.ExCall,
	pcl.ExNarrow: trampoline.ExNarrow, pcl.ExSP: trampoline.ExSP, pcl.ExStack: trampoline.ExStack, pcl.ExLoad: trampoline.ExLoad, pcl.ExMatch: trampoline.ExMatch,
	pcl.ExFile: trampoline.ExFile, pcl.ExRenew: trampoline.ExRenew}

func (p *part) expr(e *pcl.Expr) (*trampoline.Expr, error) {
	if e == nil {
		return nil, nil
	}
	out := &trampoline.Expr{Op: exprOps[e.Op], Value: e.Value, Size: e.Size, Signed: e.Signed, Text: e.Text}
	if e.Op == pcl.ExVar || e.Op == pcl.ExAddr {
		if p.cells[e.Value].kind == pcl.Gauge {
			out.Op = trampoline.ExShared
		}
		out.Value = int64(p.cells[e.Value].off)
	}
	var err error
	if out.L, err = p.expr(e.L); err != nil {
		return nil, err
	}
	if out.R, err = p.expr(e.R); err != nil {
		return nil, err
	}
	for _, a := range e.Args {
		arg, err := p.expr(a)
		if err != nil {
			return nil, err
		}
		out.Args = append(out.Args, arg)
	}
	if out.Depth() > trampoline.MaxExprDepth {
		return nil, fmt.Errorf("metric %q: an expression is nested more than %d deep: split it", p.plan.Pair.Metric, trampoline.MaxExprDepth)
	}
	return out, nil
}
