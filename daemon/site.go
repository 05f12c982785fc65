package daemon

import (
	"slices"

	"culprit/daemon/patch"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// request adds the code of one request of a part to the sites of its points and returns them.
func (p *part) request(r *pcl.Request) ([]*patch.Site, error) {
	places, err := p.t.Sites.Find(r)
	if err != nil {
		return nil, err
	}
	code, err := p.probes.Code(r)
	if err != nil {
		return nil, err
	}
	jumps, err := p.probes.Code(r.WithoutReturn())
	if err != nil {
		return nil, err
	}
	var used []*patch.Site
	ends := r.EndsActivations()
	for _, at := range places {
		code := code
		if at.Kind.IsExit() && at.Kind != planner.Ret {
			code = jumps
		}
		used = append(used, at.Site)
		if ends && at.Site.Has(at.Point.Point, p, code) {
			continue // another function jumps there, too
		}
		at.Site.Add(at.Point.Point, p, p.owner, code, r.Prepend)
	}
	more, err := p.atLandings(r)
	return append(used, more...), err
}

// atLandings adds to the landings what a request ends, and returns their sites.
func (p *part) atLandings(r *pcl.Request) (used []*patch.Site, err error) {
	landings := p.t.Sites.Landings(r)
	if len(landings) == 0 {
		return nil, nil
	}
	ends, err := p.probes.Code(r.Ends())
	if err != nil {
		return nil, err
	}
	for _, at := range landings {
		code := slices.Clone(ends)
		at.Mark(code)
		if !at.Site.Has(at.Point.Point, p, code) {
			at.Site.Add(at.Point.Point, p, p.owner, code, true)
		}
		used = append(used, at.Site)
	}
	return used, nil
}
