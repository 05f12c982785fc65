package sites

import (
	"errors"
	"strings"

	"culprit/daemon/patch"
	"culprit/daemon/plans"
	"culprit/daemon/process"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// Look finds out, once, whether the program schedules its own contexts, before anything is put into it. It may stop the process. What was planned
// before that was known is planned anew.
func (s *Finder) Look() {
	if s.looked {
		return
	}
	s.looked = true
	s.Contexts.LookFirst()
	if s.Contexts.Scheduled() {
		s.Replan()
	}
}

// Replan forgets the plans of functions in which nothing is patched.
func (s *Finder) Replan() {
	s.Text.ForgetEmpty()
	s.Plans.Forget(s.Text.Uses)
}

// Check tells why the points of a request cannot all be instrumented, as far as that is known without touching the process.
func (s *Finder) Check(r *pcl.Request) error {
	f, err := s.takesProbes(r)
	switch {
	case err != nil:
		return err
	case !s.Text.Reaches(f.Addr()):
		return s.noRoom(f)
	}
	return s.allServed(f, r, s.Text.MayReach)
}

// Prepare makes room for trampolines wherever code of a request may stand, or tells why its points cannot all be instrumented. It may stop the
// process.
func (s *Finder) Prepare(r *pcl.Request) error {
	s.Look()
	f, err := s.takesProbes(r)
	switch {
	case err != nil:
		return err
	case s.Text.Island(f.Addr()) == nil:
		return s.noRoom(f)
	}
	if err := s.allServed(f, r, s.Text.Reach); err != nil {
		return err
	}
	s.makeRoomBeyond(f.Function, r)
	return nil
}

// takesProbes is the function of a request, if it can be instrumented and has what the request reads.
func (s *Finder) takesProbes(r *pcl.Request) (*plans.Function, error) {
	f, err := s.function(r)
	if err != nil {
		return nil, err
	}
	if r.Where == pcl.Call && r.Post && f.ReachedOtherwise(r.Site) && !repeatable(r) {
		return nil, &process.Refused{Point: f.Fn.Name + ", behind call", Reason: "a branch leads there too, and would be counted as a return"}
	}
	return f, s.resultLater(f.Function, r)
}

// noRoom is why a function is refused that no trampoline reaches.
func (s *Finder) noRoom(f *plans.Function) error {
	return &process.Refused{Point: f.Fn.Name, Reason: s.Text.WhyNoIsland(f.Addr())}
}

// allServed plans the points of a request and asks for each whether it can be reached.
func (s *Finder) allServed(f *plans.Function, r *pcl.Request, reach func(*patch.Site) error) error {
	if at, why := f.Include(r, s.Text.Extend); why != "" {
		return &process.Refused{Point: strings.TrimSuffix(f.Fn.Name+", "+at, ", "), Reason: why}
	}
	for _, pt := range f.Points(r) {
		planned, refusal := f.Plan().SiteOf(pt)
		at := f.Fn.Name + ", " + pt.Kind.String()
		if refusal != nil {
			return &process.Refused{Point: at, Reason: refusal.Reason}
		}
		if err := s.Contexts.TooWide(planned); err != nil {
			return err
		}
		if planned.Tactic != planner.Punned {
			continue
		}
		site, err := s.siteOf(Point{f.Function, pt})
		if err == nil {
			err = reach(site)
		}
		var refused *process.Refused
		if errors.As(err, &refused) {
			return &process.Refused{Point: at, Reason: refused.Reason}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// repeatable reports whether the code of a request may also run where it has run already: a timer that runs is not started
// again, and a flag that is set stays set. What counts is not.
func repeatable(r *pcl.Request) bool {
	for _, in := range r.Code {
		if in.Op == pcl.OpAdd || in.Op == pcl.OpSet && (in.Expr == nil || in.Expr.Op != pcl.ExConst) {
			return false
		}
	}
	return true
}
