package daemon

import (
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl"
)

// An estimate is a part of a target that is only looked at: its plan is not put into the target but held against stack samples.
// Any metric that is a timer can be estimated so, whoever wrote it.
type estimate struct {
	clock  int
	code   map[pcl.FuncID][]*pcl.Request // in the order in which they would run
	object string                        // lock or file that a thread has to wait for, or its kind, as the profile names it; "" = any
	growth float64                       // s since the last pass
	own    weight
	before weight // of all samples when it began
}

// newEstimate makes a part of a target that is only looked at.
func newEstimate(t *target, key grid.PairKey, owner uint64) (*part, error) {
	plan, object, err := t.compileToLook(key)
	if err != nil {
		return nil, err
	}
	p := &part{t: t, plan: plan, owner: owner, hits: -1, seen: map[int]slotValue{}, tallies: map[int]*tally{}, on: true}
	if it := t.d.itemOf(key.Focus); it != nil {
		p.lacking = t.lacking(it)
	}
	if plan.KeptByKernel() || plan.Kind == pcl.Void {
		return p, nil
	}
	p.estimate = &estimate{object: object, clock: clockWall}
	if plan.Kind == pcl.ProcessTimer {
		p.estimate.clock = clockCPU
	}
	p.estimate.index(plan)
	return p, nil
}

// index sorts the requests by function.
func (e *estimate) index(plan *pcl.Plan) {
	e.code = map[pcl.FuncID][]*pcl.Request{}
	for i := range plan.Requests {
		r := &plan.Requests[i]
		e.code[r.Func] = append(e.code[r.Func], r)
	}
}

// compileToLook is the plan of a pair, and which lock or file its focus names: the arguments by which a probe tells those apart are
// gone when a sample is taken, but what a blocked thread waits for is known.
func (t *target) compileToLook(key grid.PairKey) (plan *pcl.Plan, object string, err error) {
	lib := t.d.opts.Library
	if err := lib.Check(key.Metric, key.Focus); err != nil {
		return nil, "", err
	}
	if err := t.knowsObject(key.Focus); err != nil {
		return nil, "", err
	}
	rest, object := withoutObject(key.Focus)
	plan, err = t.compile(grid.PairKey{Metric: key.Metric, Focus: rest})
	if err == nil && object != "" && plan.KeptByKernel() {
		plan, err = t.compile(key)
	}
	if err != nil {
		return nil, "", err
	}
	if !plan.KeptByKernel() {
		if err := t.sampled.tells(plan); err != nil {
			return nil, "", err
		}
	}
	plan.Pair = key
	return plan, object, nil
}

// knowsObject refuses a lock or file that nobody has seen: its value would be 0 for ever.
func (t *target) knowsObject(f grid.Focus) error {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO} {
		if e := f.Elements(h); len(e) == 2 {
			if _, err := t.Object(h, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutObject takes the lock or file out of a focus.
func withoutObject(f grid.Focus) (rest grid.Focus, object string) {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO} {
		if e := f.Elements(h); len(e) > 0 {
			return f.Refine(h), h.String() + "/" + strings.Join(e, "/")
		}
	}
	return f, ""
}

// tells refuses plans that samples do not answer.
func (s *strata) tells(plan *pcl.Plan) error {
	refuse := func(verb, why string) error {
		return grid.ErrNotSampled{Metric: plan.Pair.Metric, Verb: verb, Why: why}
	}
	switch {
	case plan.Kind == pcl.Counter, plan.Kind.Holds():
		return refuse("counted", "")
	case plan.Kind == pcl.Kernel:
		return refuse("told", "the kernel keeps it for whole threads, and what of it belongs to a part of the code only probes read")
	case plan.Kind == pcl.Void:
		return refuse("told", "it needs a place in the code")
	case plan.Distribution:
		return refuse("told", "how long each call takes is not seen")
	}
	for i := range plan.Requests {
		if why := s.unseen(plan, &plan.Requests[i]); why != "" {
			return refuse("told", why)
		}
	}
	return s.cannot(plan.Kind == pcl.WallTimer)
}

// unseen is what of a request cannot be known from a stack; "" if nothing. By which lock a plan tells its values apart is no matter: what
// a blocked thread waits for is known.
func (s *strata) unseen(plan *pcl.Plan, r *pcl.Request) string {
	if r.Where.OfLoop() || r.Where == pcl.Insn {
		return "loops and single instructions are not seen"
	}
	for _, in := range r.Code {
		switch {
		case in.Op == pcl.OpSet && plan.By != 0 && in.Var == plan.By:
		case in.Op == pcl.OpAdd, in.Op == pcl.OpCall, in.Op == pcl.OpSet && in.Expr != nil && in.Expr.Op != pcl.ExConst:
			return "it computes with what was passed to functions"
		case in.Cond != nil && !(r.Where == pcl.Entry && s.asksByNumber(r.Func) && plain(in.Cond)):
			return "it depends on what was passed to functions"
		}
	}
	return ""
}

// asksByNumber reports whether a function is the C library's syscall: where a thread waits in it, the kernel tells its arguments.
func (s *strata) asksByNumber(id pcl.FuncID) bool {
	f := s.t.funcs[id]
	return f != nil && (f.fn.Name == "syscall" || f.fn.Linkage == "syscall" || slices.Contains(f.fn.Aliases, "syscall"))
}

// plain reports whether an expression is made of arguments and numbers only.
func plain(e *pcl.Expr) bool {
	switch {
	case e == nil:
		return true
	case len(e.Args) > 0 || e.Op != pcl.ExConst && e.Op != pcl.ExArg && e.Op != pcl.ExNeg && (e.Op < pcl.ExAdd || e.Op > pcl.ExOr):
		return false
	}
	return plain(e.L) && plain(e.R)
}

// counts reports whether the part's timer runs at a sample.
func (p *part) counts(x *stackSample) bool {
	e := p.estimate
	switch {
	case x.blocked && e.clock == clockCPU, x.idle && p.plan.ExcludeParked, !p.covers(x.tid):
		return false
	case e.object != "" && e.object != x.object && !strings.HasPrefix(x.object, e.object+"/"):
		return false
	}
	return e.runs(x, len(p.plan.Vars))
}

// planOf is the plan of a pair in a target of either kind.
func (t *target) planOf(key grid.PairKey) (*pcl.Plan, error) {
	if !t.estimates(key, nil) {
		return t.compile(key)
	}
	plan, _, err := t.compileToLook(key)
	return plan, err
}

// regrow takes a plan that has more requests than the part's present one.
func (s *strata) regrow(p *part, plan *pcl.Plan) {
	before := p.estimate.before
	s.forget(p)
	p.plan = plan
	p.estimate.index(plan)
	s.follow(p)
	p.estimate.before = before
}
