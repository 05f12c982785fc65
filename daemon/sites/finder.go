package sites

import (
	"fmt"

	"culprit/daemon/contexts"
	"culprit/daemon/patch"
	"culprit/daemon/plans"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/stops"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// A Finder finds the sites of one process.
type Finder struct {
	Config
	looked   bool // whether the program schedules its own contexts
	landings landings
	hidden   hiddenHandlers
}

// A Config is what a Finder is made with. All of it is needed.
type Config struct {
	Code      *program.Program
	Plans     *plans.Set
	Text      *patch.Text
	Contexts  *contexts.Contexts
	Sequences *stops.Sequences
}

// New finds sites in a process of which nothing is known yet.
func New(c Config) *Finder { return &Finder{Config: c} }

// Plan plans the functions of many requests on all processors.
func (s *Finder) Plan(requests []pcl.Request) {
	var fns []*plans.Function
	for i := range requests {
		if f := s.Code.Func(requests[i].Func); f != nil {
			fns = append(fns, s.Plans.Of(f))
		}
	}
	plans.MakeAll(fns)
}

// A Point is where code of a request stands: in its function, or in one that is jumped to from there.
type Point struct {
	Func *program.Function
	planner.Point
}

// A Place is a point and the site that serves it.
type Place struct {
	Point
	Site *patch.Site
}

// Find gives the places of a request, in order; no Check has refused it.
func (s *Finder) Find(r *pcl.Request) (places []Place, err error) {
	f, err := s.function(r)
	if err != nil {
		return nil, err
	}
	points := s.points(f, r)
	if len(points) == 0 && r.Where == pcl.Call && !(r.Post && f.NeverReturns(r.Site)) {
		return nil, &process.Refused{Point: f.Fn.Name, Reason: "a call site is missing"}
	}
	for _, pt := range points {
		site, err := s.siteOf(pt)
		if err != nil {
			return nil, err
		}
		places = append(places, Place{pt, site})
	}
	return places, nil
}

// Serves reports whether a site serves one of the points of a request.
func (s *Finder) Serves(site *patch.Site, r *pcl.Request) bool {
	f, err := s.function(r)
	if err != nil {
		return false
	}
	for _, pt := range s.points(f, r) {
		if site.Serves(pt.Point) {
			return true
		}
	}
	return false
}

// function is that of a request, with its plan made; it can be instrumented.
func (s *Finder) function(r *pcl.Request) (*plans.Function, error) {
	f := s.Code.Func(r.Func)
	if f == nil {
		return nil, &process.Refused{Point: fmt.Sprintf("%#x", uint64(r.Func)), Reason: "no function there"}
	}
	pl := s.Plans.Made(f)
	if pl.Reason() != "" {
		return nil, &process.Refused{Point: f.Fn.Name, Reason: pl.Reason()}
	}
	return pl, nil
}

// siteOf is the site that serves a point.
func (s *Finder) siteOf(pt Point) (*patch.Site, error) {
	f := s.Plans.Made(pt.Func)
	if f.Reason() != "" {
		return nil, &process.Refused{Point: f.Fn.Name, Reason: f.Reason()}
	}
	planned, refusal := f.Plan().SiteOf(pt.Point)
	if refusal != nil {
		return nil, &process.Refused{Point: f.Fn.Name + ": " + pt.Kind.String(), Reason: refusal.Reason}
	}
	if err := s.Contexts.TooWide(planned); err != nil {
		return nil, err
	}
	site, err := s.Text.Serve(planned, pt.Point, f.Fn.Name)
	if err != nil {
		return nil, err
	}
	return site, s.Sequences.Refusal(site)
}

// OutOfReach reports whether an entry or exit of a function cannot be patched.
func (s *Finder) OutOfReach(f *program.Function) bool {
	pl := s.Plans.Made(f)
	if pl.Plan() == nil {
		return true
	}
	for _, points := range [][]planner.Point{pl.Entry(), pl.Exits()} {
		for _, pt := range points {
			if planned, refusal := pl.Plan().SiteOf(pt); refusal != nil || s.Contexts.TooWide(planned) != nil {
				return true
			}
		}
	}
	return false
}

// NeverComesBack reports whether a request is for the returns of a function that never returns.
func (s *Finder) NeverComesBack(r *pcl.Request) bool {
	f := s.Code.Func(r.Func)
	if r.Where != pcl.Return || f == nil {
		return false
	}
	pl := s.Plans.Made(f)
	return pl.Reason() == "" && len(pl.Exits()) == 0
}
