package daemon

import (
	"slices"
	"strings"

	"culprit/daemon/kernelmeter"
	"culprit/grid"
	"culprit/pcl"
)

// A sampleMeter estimates a timer from stack samples: its plan is not put into the target but held against them. Any metric that is a timer
// can be estimated so, whoever wrote it.
type sampleMeter struct {
	s      *strata
	plan   *pcl.Plan
	clock  int
	code   map[pcl.FuncID][]*pcl.Request // in the order in which they would run
	object string                        // lock or file that a thread has to wait for, or its kind, as the profile names it; "" = any
	growth float64                       // s since the last pass
	own    weight
	before weight // of all samples when it began
}

func newSampleMeter(s *strata, plan *pcl.Plan, object string) *sampleMeter {
	m := &sampleMeter{s: s, plan: plan, object: object, clock: clockWall}
	if plan.Kind == pcl.ProcessTimer {
		m.clock = clockCPU
	}
	m.index()
	return m
}

func (m *sampleMeter) Tier() grid.Tier { return grid.TierSample }
func (m *sampleMeter) Begin()          { m.s.follow(m) }
func (m *sampleMeter) Close()          { m.s.forget(m) }

func (m *sampleMeter) Grown(float64) (growth float64) {
	growth, m.growth = m.growth, 0
	return growth
}

func (m *sampleMeter) Adopt(plan *pcl.Plan) bool {
	before := m.before
	m.s.forget(m)
	m.plan.Requests = plan.Requests
	m.index()
	m.s.follow(m)
	m.before = before
	return true
}

// newLookedPart makes a part of a target that is only looked at.
func newLookedPart(t *measured, key grid.PairKey, owner uint64) (*part, error) {
	plan, object, err := t.compileToLook(key)
	if err != nil {
		return nil, err
	}
	if plan.KeptByKernel() {
		return newMeteredPart(t, plan, owner, kernelmeter.New(t.kept, plan)), nil
	}
	return newMeteredPart(t, plan, owner, newSampleMeter(t.sampled, plan, object)), nil
}

// index sorts the requests by function.
func (m *sampleMeter) index() {
	m.code = map[pcl.FuncID][]*pcl.Request{}
	for i := range m.plan.Requests {
		r := &m.plan.Requests[i]
		m.code[r.Func] = append(m.code[r.Func], r)
	}
}

// compileToLook is the plan of a pair, and which lock or file its focus names: the arguments by which a probe tells those apart are
// gone when a sample is taken, but what a blocked thread waits for is known.
func (t *measured) compileToLook(key grid.PairKey) (plan *pcl.Plan, object string, err error) {
	lib := t.Library
	if err := lib.Check(key.Metric, key.Focus); err != nil {
		return nil, "", err
	}
	if err := t.knowsObject(key.Focus); err != nil {
		return nil, "", err
	}
	rest, object := withoutObject(key.Focus)
	plan, err = t.Compile(grid.PairKey{Metric: key.Metric, Focus: rest})
	if err == nil && object != "" && plan.KeptByKernel() {
		plan, err = t.Compile(key)
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
func (t *measured) knowsObject(f grid.Focus) error {
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
	f := s.t.Func(id)
	return f != nil && (f.Fn.Name == "syscall" || f.Fn.Linkage == "syscall" || slices.Contains(f.Fn.Aliases, "syscall"))
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

// counts reports whether the timer runs at a sample.
func (m *sampleMeter) counts(x *stackSample) bool {
	switch {
	case x.blocked && m.clock == clockCPU, x.idle && m.plan.ExcludeParked, !covers(m.s.t, m.plan, x.tid):
		return false
	case m.object != "" && m.object != x.object && !strings.HasPrefix(x.object, m.object+"/"):
		return false
	}
	return m.runs(x, len(m.plan.Vars))
}

// planOf is the plan of a pair in a target of either kind.
func (t *measured) planOf(key grid.PairKey) (*pcl.Plan, error) {
	if !t.estimates(key, nil) {
		return t.Compile(key)
	}
	plan, _, err := t.compileToLook(key)
	return plan, err
}
