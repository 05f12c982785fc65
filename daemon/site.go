package daemon

import (
	"errors"
	"fmt"

	"culprit/daemon/patch"
	"culprit/daemon/plans"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// Which sites serve the points of requests.

func hex(a uint64) string { return fmt.Sprintf("%#x", a) }

// siteOf returns the site that serves a point of a function.
func (t *measured) siteOf(f *program.Function, pt planner.Point) (*patch.Site, error) {
	pl := t.Plans.Made(f)
	if pl.Reason() != "" {
		return nil, &process.Refused{Point: f.Fn.Name, Reason: pl.Reason()}
	}
	planned, refusal := pl.Plan().SiteOf(pt)
	if refusal != nil {
		return nil, &process.Refused{Point: f.Fn.Name + ": " + pt.Kind.String(), Reason: refusal.Reason}
	}
	if err := t.Contexts.TooWide(planned); err != nil {
		return nil, err
	}
	s, err := t.Text.Serve(planned, pt, f.Fn.Name)
	if err != nil {
		return nil, err
	}
	if err := t.Sequences.Refusal(s); err != nil {
		return nil, err
	}
	return s, nil
}

// roomToPun reports why a point whose site is punned cannot be reached: both jumps lead to few places, and in rare layouts of memory all
// of them are taken. Else the places are the site's from now on.
func (t *measured) roomToPun(pl *plans.Function, pt planner.Point) error {
	if planned, _ := pl.Plan().SiteOf(pt); planned.Tactic != planner.Punned {
		return nil
	}
	s, err := t.siteOf(pl.Function, pt)
	if err == nil {
		err = t.Text.Reach(s)
	}
	var refused *process.Refused
	if errors.As(err, &refused) {
		return &process.Refused{Point: pl.Fn.Name + ", " + pt.Kind.String(), Reason: refused.Reason}
	}
	return err
}

// request adds the code of one request of a part to the sites of its points and returns them.
func (p *part) request(r *pcl.Request) ([]*patch.Site, error) {
	f := p.t.Func(r.Func)
	if f == nil {
		return nil, &process.Refused{Point: hex(uint64(r.Func)), Reason: "no function there"}
	}
	if pl := p.t.Plans.Made(f); pl.Reason() != "" {
		return nil, &process.Refused{Point: f.Fn.Name, Reason: pl.Reason()}
	}
	pts := p.t.pointsOf(f, r)
	if len(pts) == 0 && r.Where == pcl.Call && !(r.Post && f.NeverReturns(r.Site)) {
		return nil, &process.Refused{Point: f.Fn.Name, Reason: "a call site is missing"}
	}
	minis, err := p.probes.Code(r)
	if err != nil {
		return nil, err
	}
	jumps, err := p.probes.Code(withoutReturn(r))
	if err != nil {
		return nil, err
	}
	var sites []*patch.Site
	for _, e := range pts {
		s, err := p.t.siteOf(e.f, e.pt)
		if err != nil {
			return nil, err
		}
		sites = append(sites, s)
	}
	ends := r.EndsActivations()
	for i, e := range pts {
		code := minis
		if e.pt.Kind.IsExit() && e.pt.Kind != planner.Ret {
			code = jumps
		}
		if ends && sites[i].Has(e.pt, p, code) {
			continue // another function jumps there, too
		}
		sites[i].Add(e.pt, p, p.owner, code, r.Prepend)
	}
	more, err := p.unreturned(f, r)
	return append(sites, more...), err
}
