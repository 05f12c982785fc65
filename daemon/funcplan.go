package daemon

import (
	"sync"
	"sync/atomic"

	"culprit/daemon/image"
	"culprit/daemon/image/lazy"
	"culprit/daemon/program"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// How the points of functions are reached. What code there is, program tells; here stands what is planned for it.

// A codePlan is what is planned for the functions of an object.
type codePlan struct {
	obj   *program.Object
	twins *twinPlans // nil of a file that is only looked at
	parks bool       // contexts may be parked at any of its instructions
	funcs map[*program.Function]*funcPlan

	padMu     sync.Mutex
	padsTaken map[uint64]bool // by end of the padding
}

func newCodePlan(o *program.Object, twins *twinPlans, parks bool) *codePlan {
	return &codePlan{obj: o, twins: twins, parks: parks, funcs: map[*program.Function]*funcPlan{}}
}

// A funcPlan is how the points of one function are reached. It is made when somebody first asks for it.
type funcPlan struct {
	f  *program.Function
	of *codePlan

	once     sync.Once
	analysed atomic.Bool
	plan     *planner.Plan
	points   map[pcl.Where][]planner.Point
	reason   string // why it cannot be instrumented at all

}

// whyGone is why a function of an object that was unloaded has no points.
const whyGone = "its code is not mapped any more"

// funcPlan is the plan of a function, which analyse makes. d.mu is held.
func (t *measured) funcPlan(f *program.Function) *funcPlan {
	c := t.plans[f.Obj]
	if c == nil {
		return &funcPlan{f: f, of: newCodePlan(f.Obj, nil, false), reason: whyGone}
	}
	return c.funcPlan(f)
}

// planned is funcPlan with the plan made.
func (t *measured) planned(f *program.Function) *funcPlan {
	pl := t.funcPlan(f)
	pl.analyse()
	return pl
}

func (c *codePlan) funcPlan(f *program.Function) *funcPlan {
	pl := c.funcs[f]
	if pl == nil {
		pl = &funcPlan{f: f, of: c}
		c.funcs[f] = pl
	}
	return pl
}

// analyse decodes the function and plans every point of it. Different plans may be made at the same time.
func (pl *funcPlan) analyse() {
	if !pl.analysed.Load() && lazy.InStop("the plan of "+pl.f.Fn.Name, pl.analyse) {
		return
	}
	pl.once.Do(func() {
		defer pl.analysed.Store(true)
		if pl.reason == "" {
			pl.reason = pl.make()
		}
	})
}

// make makes the plan, or says why there is none.
func (pl *funcPlan) make() (reason string) {
	f, c := pl.f, pl.of
	switch {
	case f.Fn.Refuse != "":
		return f.Fn.Refuse
	case f.IsGo():
		return whyGo
	case !c.parks && pl.likeTwin():
		return ""
	}
	flow, err := f.Obj.Flow(f.Fn)
	if err != nil {
		return err.Error()
	}
	defer flow.Release()
	if err := planning(func() { pl.plan = planner.MakePlan(pl.body(flow), pl.firstPoints()) }); err != nil {
		return err.Error()
	}
	if !c.parks {
		c.twins.keep(f.Fn, pl.plan)
	}
	return ""
}

// likeTwin takes over what was planned for the same code at the same address in another target; false if it has to be planned here.
func (pl *funcPlan) likeTwin() bool {
	plan := pl.of.twins.of(pl.f.Fn)
	if plan == nil || !pl.of.takePads(plan) {
		return false
	}
	pl.plan = plan
	pl.firstPoints()
	return true
}

// firstPoints are entries and exits. Calls and loops are planned when somebody asks for them, with what room is left.
func (pl *funcPlan) firstPoints() []planner.Point {
	pl.points = map[pcl.Where][]planner.Point{}
	pts := []planner.Point{{Kind: planner.FuncEntry, Addr: pl.f.Addr()}}
	pl.points[pcl.Entry] = pts[:1:1]
	for _, e := range pl.f.Flow().Exits {
		pts = append(pts, planner.Point{Kind: exitKind(e.Kind), Addr: e.Addr + pl.f.Obj.Bias})
	}
	pl.points[pcl.Return] = pts[1:len(pts):len(pts)]
	return pts
}

func exitKind(k image.ExitKind) planner.PointKind {
	switch k {
	case image.ExitTailJump:
		return planner.TailJump
	case image.ExitTailCond:
		return planner.TailCond
	case image.ExitTailInd:
		return planner.TailInd
	}
	return planner.Ret
}
