package plans

import (
	"sync"
	"sync/atomic"

	"culprit/daemon/image"
	"culprit/daemon/image/lazy"
	"culprit/daemon/program"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// A Function is how the points of one function are reached. Nothing is planned before Make.
type Function struct {
	*program.Function
	of *object

	once   sync.Once
	made   atomic.Bool
	plan   *planner.Plan
	points map[pcl.Where][]planner.Point
	reason string // why it cannot be instrumented at all
}

// WhyGo is why a function of Go code has no points.
const WhyGo = "Go code: goroutines are taken off their threads at any instruction and go on on others, so it is measured by stack samples"

// WhyShared is why a function of code that is mapped MAP_SHARED has no points.
const WhyShared = "its code is mapped MAP_SHARED: probes would come into the file, and to every program that maps it, so it is measured by stack samples"

// Reason is why the function cannot be instrumented at all; "" if it can.
func (f *Function) Reason() string { return f.reason }

// Plan is the plan as it is now; nil if there is none.
func (f *Function) Plan() *planner.Plan { return f.plan }

// Entry and Exits are the first points of a plan; none if there is none.
func (f *Function) Entry() []planner.Point { return f.points[pcl.Entry] }

// Exits are the points at which the function is left.
func (f *Function) Exits() []planner.Point { return f.points[pcl.Return] }

// Make decodes the function and plans its entry and exits, once. In a stop it does nothing: the plan is missing there if it was not made before.
func (f *Function) Make() {
	if !f.made.Load() && lazy.InStop("the plan of "+f.Fn.Name, f.Make) {
		return
	}
	f.once.Do(func() {
		defer f.made.Store(true)
		if f.reason == "" {
			f.reason = f.make()
		}
	})
}

// make makes the plan, or says why there is none.
func (f *Function) make() (reason string) {
	single := f.of.oneInstruction()
	switch {
	case f.Fn.Refuse != "":
		return f.Fn.Refuse
	case f.IsGo():
		return WhyGo
	case f.Obj.Shared:
		return WhyShared
	case single == "" && f.sharePlan():
		return ""
	}
	flow, err := f.Obj.Flow(f.Fn)
	if err != nil {
		return err.Error()
	}
	defer flow.Release()
	if err := planning(func() { f.plan = planner.MakePlan(f.body(flow, single), f.firstPoints()) }); err != nil {
		return err.Error()
	}
	if single == "" {
		f.of.common.keep(f.Fn, f.plan)
	}
	return ""
}

// sharePlan takes over what was planned for the same code at the same address in another target; false if it has to be planned here.
func (f *Function) sharePlan() bool {
	plan := f.of.common.of(f.Fn)
	if plan == nil || !f.of.takePads(plan) {
		return false
	}
	f.plan = plan
	f.firstPoints()
	return true
}

// firstPoints are entries and exits. Calls and loops are planned when somebody asks for them, with what room is left.
func (f *Function) firstPoints() []planner.Point {
	f.points = map[pcl.Where][]planner.Point{}
	pts := []planner.Point{{Kind: planner.FuncEntry, Addr: f.Addr()}}
	f.points[pcl.Entry] = pts[:1:1]
	for _, e := range f.Flow().Exits {
		pts = append(pts, planner.Point{Kind: exitKind(e.Kind), Addr: e.Addr + f.Obj.Bias})
	}
	f.points[pcl.Return] = pts[1:len(pts):len(pts)]
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
