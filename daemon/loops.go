package daemon

import (
	"fmt"

	"culprit/daemon/image"
	"culprit/daemon/process"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// loopPoints are the points of one kind of a loop. Exits of the function inside the loop leave it, too.
func (pl *funcPlan) loopPoints(w pcl.Where, number int) (points []planner.Point) {
	loops := pl.f.Loops()
	if number >= len(loops) {
		return nil
	}
	l := &loops[number]
	if w == pcl.LoopStartIter {
		return []planner.Point{{Kind: planner.Before, Addr: l.Head + pl.f.Obj.Bias}}
	}
	for _, e := range edgesOf(l, w) {
		kind := planner.Behind
		if e.Kind == image.EdgeJumps {
			kind = planner.Taken
		}
		points = append(points, planner.Point{Kind: kind, Addr: e.From + pl.f.Obj.Bias})
	}
	if w != pcl.LoopExit {
		return points
	}
	inside := map[uint64]bool{}
	for _, a := range l.Leaves {
		inside[a+pl.f.Obj.Bias] = true
	}
	for _, pt := range pl.points[pcl.Return] {
		if inside[pt.Addr] {
			points = append(points, pt)
		}
	}
	return points
}

// padPoints are where control goes on after exceptions that come out of a loop. Others may lead there, too: only what ends with an activation,
// which knows its own by the stack pointer, may stand there.
func (pl *funcPlan) padPoints(number int) (points []planner.Point) {
	if loops := pl.f.Loops(); number < len(loops) {
		for _, a := range loops[number].Pads {
			points = append(points, planner.Point{Kind: planner.Before, Addr: a + pl.f.Obj.Bias})
		}
	}
	return points
}

func edgesOf(l *image.Loop, w pcl.Where) []image.Edge {
	switch w {
	case pcl.LoopEnter:
		return l.Enter
	case pcl.LoopExit:
		return l.Exit
	}
	return l.Back
}

// planLoop makes the points of a loop part of the function's plan.
func (t *measured) planLoop(pl *funcPlan, w pcl.Where, number int) error {
	loops := pl.f.Loops()
	if number >= len(loops) {
		return &process.Refused{Point: pl.f.Fn.Name, Reason: "no such loop: " + pl.f.WhyNoLoops()}
	}
	l := &loops[number]
	if w != pcl.LoopStartIter {
		for _, e := range edgesOf(l, w) {
			if e.Kind != image.EdgeFalls && e.Kind != image.EdgeJumps {
				return &process.Refused{Point: pl.f.Fn.Name + ", " + l.Name, Reason: fmt.Sprintf("%s of it goes by a jump table or an exception, at %#x", w, e.From)}
			}
		}
	}
	if w == pcl.LoopEnter && len(l.Enter) == 0 {
		return &process.Refused{Point: pl.f.Fn.Name + ", " + l.Name, Reason: "the function begins inside it"}
	}
	points := pl.loopPoints(w, number)
	if w == pcl.LoopExit {
		points = append(points, pl.padPoints(number)...)
	}
	if !pl.served(points) {
		t.extendPlan(pl, pl.allLoopPoints())
	}
	return nil
}

// allLoopPoints are those of all loops of a function. They are planned together: none takes the room that another needs.
func (pl *funcPlan) allLoopPoints() (points []planner.Point) {
	for _, w := range []pcl.Where{pcl.LoopStartIter, pcl.LoopEnter, pcl.LoopExit, pcl.LoopEndIter} {
		for i := range pl.f.Loops() {
			points = append(points, pl.loopPoints(w, i)...)
		}
	}
	for i := range pl.f.Loops() {
		points = append(points, pl.padPoints(i)...)
	}
	return points
}

// extendPlan makes further points part of a function's plan. Sites that nothing runs at may change for it. Where the code cannot be read
// any more the plan stays as it is, without these points.
func (t *measured) extendPlan(pl *funcPlan, points []planner.Point) {
	_ = planning(func() { pl.plan = t.Text.Extend(pl.plan, pl.body(pl.f.Whole()), points) })
}

// served reports whether all points are planned, or known not to be reached.
func (pl *funcPlan) served(points []planner.Point) bool {
	for _, pt := range points {
		if !pl.plan.Knows(pt) {
			return false
		}
	}
	return true
}

// insnPoint is the point of a request for a single instruction.
func (pl *funcPlan) insnPoint(r pcl.Request) []planner.Point {
	pt := planner.Point{Kind: planner.Before, Addr: pl.f.Addr() + uint64(int64(r.Site))}
	if r.Post {
		pt.Kind = planner.Behind
	}
	return []planner.Point{pt}
}

// ListLoops makes the loops of a function resources below it and returns their names, outer ones first.
func (d *Daemon) ListLoops(module, name string) (names []string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.targets {
		for _, id := range t.Function(module, name) {
			f := t.Func(id)
			for _, l := range f.Loops() {
				names = append(names, l.Name)
				d.session.Tree.Add(grid.Code, module, name, l.Name)
			}
			if f.WhyNoLoops() != "" {
				err = &process.Refused{Point: f.Fn.Name, Reason: f.WhyNoLoops()}
			}
		}
	}
	if len(names) == 0 {
		return nil, err
	}
	return names, nil
}

// planCalls makes the points around all calls of a function part of its plan. d.mu is held.
func (t *measured) planCalls(pl *funcPlan) {
	f, flow := pl.f, pl.f.Flow()
	if pl.points[pcl.Call] != nil || len(flow.Calls) == 0 {
		return
	}
	var pts []planner.Point
	for _, c := range flow.Calls {
		pts = append(pts, planner.Point{Kind: planner.CallPre, Addr: c.Addr + f.Obj.Bias},
			planner.Point{Kind: planner.CallPost, Addr: c.Ret + f.Obj.Bias})
	}
	pl.points[pcl.Call] = pts
	t.extendPlan(pl, pts)
}

// pointsOf returns the points of a function that a request names: none behind a call that never comes back.
func (pl *funcPlan) pointsOf(r pcl.Request) []planner.Point {
	switch {
	case r.Where == pcl.Entry, r.Where == pcl.Return:
		return pl.points[r.Where]
	case r.Where.OfLoop():
		return pl.loopPoints(r.Where, r.Site)
	case r.Where == pcl.Insn:
		return pl.insnPoint(r)
	}
	i := 2 * r.Site
	if r.Post {
		if pl.f.NeverReturns(r.Site) {
			return nil
		}
		i++
	}
	if all := pl.points[pcl.Call]; i < len(all) {
		return all[i : i+1]
	}
	return nil
}
