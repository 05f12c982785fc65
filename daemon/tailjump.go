package daemon

import (
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/notes"
	"culprit/daemon/program"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// A function that ends in a jump to another one has not returned: the other returns in its place, with the stack pointer that the
// first was entered with. Semaphores and joins of the C library wait there. What ends with an activation (a timer, a flag) therefore
// stands at the exits of the function that is jumped to. It knows by the stack pointer whether the activation that returns is the one
// that began: calls of the other function that did not come by the jump end nothing.

// maxJumps is how many such jumps are followed, one behind the other.
const maxJumps = 4

// An exit is a point at which an activation of a function ends, in it or in one that it jumps to.
type exit struct {
	f  *program.Function
	pt planner.Point
}

// pointsOf are where a request has its code.
func (t *measured) pointsOf(f *program.Function, r *pcl.Request) (all []exit) {
	follows := r.EndsActivations()
	pl := t.Plans.Made(f)
	for _, pt := range pl.Points(r) {
		if !follows {
			all = append(all, exit{f, pt})
			continue
		}
		if g := t.jumpedTo(f, pt); g != nil {
			if more, ok := t.exitsOf(g, []*program.Function{f}); ok {
				all = append(all, more...)
				continue
			}
		}
		all = append(all, exit{f, pt})
	}
	if follows {
		all = unrepeated(all)
	}
	if r.Where == pcl.LoopExit && r.OnlyEnds() {
		for _, pt := range pl.LandingPads(r.Site) {
			all = append(all, exit{f, pt})
		}
	}
	return all
}

func unrepeated(all []exit) (out []exit) {
	for _, e := range all {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// jumpedTo is the function that an exit jumps to, if that is known.
func (t *measured) jumpedTo(f *program.Function, pt planner.Point) *program.Function {
	if pt.Kind != planner.TailJump && pt.Kind != planner.TailCond {
		return nil
	}
	for _, e := range f.Flow().Exits {
		if e.Addr+f.Obj.Bias != pt.Addr || e.Target == 0 {
			continue
		}
		if g := t.FunctionAt(e.Target + f.Obj.Bias); g != nil && g.Addr() == e.Target+f.Obj.Bias {
			return g
		}
	}
	return nil
}

// exitsOf are the exits of a function that came is jumped to from; ok is false if one of them cannot be instrumented, or if they
// lead in a circle: then the jump itself has to do.
func (t *measured) exitsOf(f *program.Function, came []*program.Function) (all []exit, ok bool) {
	if slices.Contains(came, f) || len(came) > maxJumps || t.Text.Island(f.Addr()) == nil {
		return nil, false
	}
	pl := t.Plans.Made(f)
	if pl.Reason() != "" {
		return nil, false
	}
	for _, pt := range pl.Exits() {
		if g := t.jumpedTo(f, pt); g != nil {
			if more, ok := t.exitsOf(g, append(came, f)); ok {
				all = append(all, more...)
				continue
			}
		}
		if _, err := t.siteOf(f, pt); err != nil {
			return nil, false
		}
		all = append(all, exit{f, pt})
	}
	return all, len(all) > 0
}

// JumpsAway are the exits at which an activation of a function is taken to end although the function goes on in another one, which cannot be
// followed there: in another file, by a pointer, in a circle.
func (t *measured) JumpsAway(f *program.Function) notes.Jumps {
	exits := t.Plans.Made(f).Exits()
	out := notes.Jumps{Exits: len(exits)}
	for _, pt := range exits {
		if !pt.Kind.IsExit() || pt.Kind == planner.Ret {
			continue
		}
		if g := t.jumpedTo(f, pt); g != nil {
			if _, ok := t.exitsOf(g, []*program.Function{f}); ok || g == f {
				continue
			}
		}
		out.Count++
		if name := t.nameBehind(f, pt); name != "" && !slices.Contains(out.To, name) {
			out.To = append(out.To, name)
		}
	}
	return out
}

// nameBehind is what the function is called that an exit jumps to, "" if that is not known.
func (t *measured) nameBehind(f *program.Function, pt planner.Point) string {
	for _, e := range f.Flow().Exits {
		if e.Addr+f.Obj.Bias != pt.Addr {
			continue
		}
		if g := t.Callee(f.Obj, image.CallSite{Target: e.Target, Import: e.Import}); g != nil {
			return g.Fn.Name
		}
		return e.Import
	}
	return ""
}
