package plans

import (
	"fmt"

	"culprit/daemon/image"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// An Extender makes further points part of a plan of a function with a body, and returns the new plan. Sites that are in use must stay.
type Extender func(plan *planner.Plan, body *planner.Body, points []planner.Point) *planner.Plan

// Include plans the points of a request where that was not done yet. If there are none it says at what, in the function, and why. A point that is
// planned may still be refused.
func (f *Function) Include(r *pcl.Request, extend Extender) (at, why string) {
	switch {
	case r.Where == pcl.Call:
		f.includeCalls(extend)
	case r.Where == pcl.Insn:
		if pts := f.insnPoint(r); !f.served(pts) {
			f.extend(extend, pts)
		}
	case r.Where.OfLoop():
		return f.includeLoop(r.Where, r.Site, extend)
	}
	return "", ""
}

// Points are the points of the function that a request names, as far as they were included: none behind a call that never comes back.
func (f *Function) Points(r *pcl.Request) []planner.Point {
	switch {
	case r.Where == pcl.Entry, r.Where == pcl.Return:
		return f.points[r.Where]
	case r.Where.OfLoop():
		return f.loopPoints(r.Where, r.Site)
	case r.Where == pcl.Insn:
		return f.insnPoint(r)
	}
	i := 2 * r.Site
	if r.Post {
		if f.NeverReturns(r.Site) {
			return nil
		}
		i++
	}
	if all := f.points[pcl.Call]; i < len(all) {
		return all[i : i+1]
	}
	return nil
}

// extend makes further points part of the plan. Where the code cannot be read any more the plan stays as it is, without these points.
func (f *Function) extend(extend Extender, points []planner.Point) {
	_ = planning(func() { f.plan = extend(f.plan, f.body(f.Whole(), f.of.oneInstruction()), points) })
}

// served reports whether all points are planned, or known not to be reached.
func (f *Function) served(points []planner.Point) bool {
	for _, pt := range points {
		if !f.plan.Knows(pt) {
			return false
		}
	}
	return true
}

// insnPoint is the point of a request for a single instruction.
func (f *Function) insnPoint(r *pcl.Request) []planner.Point {
	pt := planner.Point{Kind: planner.Before, Addr: f.Addr() + uint64(int64(r.Site))}
	if r.Post {
		pt.Kind = planner.Behind
	}
	return []planner.Point{pt}
}

// includeCalls plans the points around all calls.
func (f *Function) includeCalls(extend Extender) {
	flow := f.Flow()
	if f.points[pcl.Call] != nil || len(flow.Calls) == 0 {
		return
	}
	var pts []planner.Point
	for _, c := range flow.Calls {
		pts = append(pts, planner.Point{Kind: planner.CallPre, Addr: c.Addr + f.Obj.Bias},
			planner.Point{Kind: planner.CallPost, Addr: c.Ret + f.Obj.Bias})
	}
	f.points[pcl.Call] = pts
	f.extend(extend, pts)
}

// includeLoop plans the points of a loop.
func (f *Function) includeLoop(w pcl.Where, number int, extend Extender) (at, why string) {
	loops := f.Loops()
	if number >= len(loops) {
		return "", "no such loop: " + f.WhyNoLoops()
	}
	l := &loops[number]
	if w != pcl.LoopStartIter {
		for _, e := range edgesOf(l, w) {
			if e.Kind != image.EdgeFalls && e.Kind != image.EdgeJumps {
				return l.Name, fmt.Sprintf("%s of it goes by a jump table or an exception, at %#x", w, e.From)
			}
		}
	}
	if w == pcl.LoopEnter && len(l.Enter) == 0 {
		return l.Name, "the function begins inside it"
	}
	points := f.loopPoints(w, number)
	if w == pcl.LoopExit {
		points = append(points, f.LandingPads(number)...)
	}
	if !f.served(points) {
		f.extend(extend, f.allLoopPoints())
	}
	return "", ""
}

// allLoopPoints are those of all loops. They are planned together: none takes the room that another needs.
func (f *Function) allLoopPoints() (points []planner.Point) {
	for _, w := range []pcl.Where{pcl.LoopStartIter, pcl.LoopEnter, pcl.LoopExit, pcl.LoopEndIter} {
		for i := range f.Loops() {
			points = append(points, f.loopPoints(w, i)...)
		}
	}
	for i := range f.Loops() {
		points = append(points, f.LandingPads(i)...)
	}
	return points
}

// loopPoints are the points of one kind of a loop. Exits of the function inside the loop leave it, too.
func (f *Function) loopPoints(w pcl.Where, number int) (points []planner.Point) {
	loops := f.Loops()
	if number >= len(loops) {
		return nil
	}
	l := &loops[number]
	if w == pcl.LoopStartIter {
		return []planner.Point{{Kind: planner.Before, Addr: l.Head + f.Obj.Bias}}
	}
	for _, e := range edgesOf(l, w) {
		kind := planner.Behind
		if e.Kind == image.EdgeJumps {
			kind = planner.Taken
		}
		points = append(points, planner.Point{Kind: kind, Addr: e.From + f.Obj.Bias})
	}
	if w != pcl.LoopExit {
		return points
	}
	inside := map[uint64]bool{}
	for _, a := range l.Leaves {
		inside[a+f.Obj.Bias] = true
	}
	for _, pt := range f.points[pcl.Return] {
		if inside[pt.Addr] {
			points = append(points, pt)
		}
	}
	return points
}

// LandingPads are where control goes on after exceptions that come out of a loop. Others may lead there, too: only what ends with an activation,
// which knows its own by the stack pointer, may stand there.
func (f *Function) LandingPads(loop int) (points []planner.Point) {
	if loops := f.Loops(); loop < len(loops) {
		for _, a := range loops[loop].Pads {
			points = append(points, planner.Point{Kind: planner.Before, Addr: a + f.Obj.Bias})
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
