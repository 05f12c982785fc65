package sites

import (
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/daemon/plans"
	"culprit/daemon/program"
	"culprit/internal/safetext"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// A function that ends in a jump to another one has not returned: the other returns in its place, with the stack pointer that the
// first was entered with. Semaphores and joins of the C library wait there. What ends with an activation (a timer, a flag) therefore
// stands at the exits of the function that is jumped to. It knows by the stack pointer whether the activation that returns is the one
// that began: calls of the other function that did not come by the jump end nothing.

// maxJumps is how many such jumps are followed, one behind the other.
const maxJumps = 4

// points are where a request has its code.
func (s *Finder) points(f *plans.Function, r *pcl.Request) (all []Point) {
	follows := r.EndsActivations()
	for _, pt := range f.Points(r) {
		if follows {
			if more, ok := s.exitsBehind(f.Function, pt, nil); ok {
				all = append(all, more...)
				continue
			}
		}
		all = append(all, Point{f.Function, pt})
	}
	if follows {
		all = distinct(all)
	}
	if r.Where == pcl.LoopExit && r.OnlyEnds() {
		for _, pt := range f.LandingPads(r.Site) {
			all = append(all, Point{f.Function, pt})
		}
	}
	return all
}

func distinct(all []Point) (out []Point) {
	for _, pt := range all {
		if !slices.Contains(out, pt) {
			out = append(out, pt)
		}
	}
	return out
}

// jumpedTo is the function that an exit jumps to, if that is known. Into another file it is followed where a thread may wait there: a leaf at the
// exits of any other function that many call, as of free, would cost more than it tells.
func (s *Finder) jumpedTo(f *program.Function, pt planner.Point) *program.Function {
	if pt.Kind != planner.TailJump && pt.Kind != planner.TailCond {
		return nil
	}
	for _, e := range f.Flow().Exits {
		if e.Addr+f.Obj.Bias != pt.Addr || e.Import != "" && !libc.MayBlock(e.Import) {
			continue
		}
		if g := s.Code.TailCallee(f.Obj, e); g != nil && (e.Import != "" || g.Addr() == e.Target+f.Obj.Bias) {
			return g
		}
	}
	return nil
}

// exitsBehind are the exits of the function that an exit of f jumps to; came are those that have jumped to f. ok is false if it jumps to none, or
// if the exits cannot be followed: then the jump itself has to do.
func (s *Finder) exitsBehind(f *program.Function, pt planner.Point, came []*program.Function) (all []Point, ok bool) {
	if g := s.jumpedTo(f, pt); g != nil {
		return s.exitsOf(g, append(came, f))
	}
	return nil, false
}

// exitsOf are the exits of a function that came is jumped to from; ok is false if one of them cannot be instrumented, or if they
// lead in a circle.
func (s *Finder) exitsOf(f *program.Function, came []*program.Function) (all []Point, ok bool) {
	if slices.Contains(came, f) || len(came) > maxJumps || !s.Text.Reaches(f.Addr()) {
		return nil, false
	}
	pl := s.Plans.Made(f)
	if pl.Reason() != "" {
		return nil, false
	}
	for _, pt := range pl.Exits() {
		if more, ok := s.exitsBehind(f, pt, came); ok {
			all = append(all, more...)
			continue
		}
		if _, err := s.siteOf(Point{f, pt}); err != nil {
			return nil, false
		}
		all = append(all, Point{f, pt})
	}
	return all, len(all) > 0
}

// makeRoomBehind makes room for trampolines near the functions that the exits of one jump to.
func (s *Finder) makeRoomBehind(f *program.Function, came []*program.Function) {
	for _, pt := range s.Plans.Made(f).Exits() {
		g := s.jumpedTo(f, pt)
		if g == nil || g == f || slices.Contains(came, g) || len(came) >= maxJumps {
			continue
		}
		s.Text.Island(g.Addr())
		s.makeRoomBehind(g, append(came, f))
	}
}

// Jumps are exits of a function by jumps to others, where it cannot be followed.
type Jumps struct {
	Count int
	Exits int      // of the function, in all
	To    []string // the names of the others, as far as they are known
}

// JumpsAway are the exits at which an activation of a function is taken to end although the function goes on in another one, which cannot be
// followed there: in another file, by a pointer, in a circle.
func (s *Finder) JumpsAway(f *program.Function) Jumps {
	exits := s.Plans.Made(f).Exits()
	out := Jumps{Exits: len(exits)}
	for _, pt := range exits {
		if !pt.Kind.IsExit() || pt.Kind == planner.Ret || s.jumpedTo(f, pt) == f {
			continue
		}
		if _, ok := s.exitsBehind(f, pt, nil); ok {
			continue
		}
		out.Count++
		if name := s.nameBehind(f, pt); name != "" && !slices.Contains(out.To, name) {
			out.To = append(out.To, name)
		}
	}
	return out
}

// nameBehind is what the function is called that an exit jumps to, "" if that is not known.
func (s *Finder) nameBehind(f *program.Function, pt planner.Point) string {
	for _, e := range f.Flow().Exits {
		if e.Addr+f.Obj.Bias != pt.Addr {
			continue
		}
		if g := s.Code.Callee(f.Obj, image.CallSite{Target: e.Target, Import: e.Import}); g != nil {
			return safetext.CleanMax(g.Fn.Name, 100)
		}
		return safetext.CleanMax(e.Import, 100)
	}
	return ""
}
