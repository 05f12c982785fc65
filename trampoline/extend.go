package trampoline

import "slices"

// Extend plans further points of a function whose plan may be in use already. Its sites stay as they are: a point whose
// instruction moves with one of them is served there, by a mark more; the others get sites of their own, where there is room.
// It returns the sites that got marks. Points that are planned or refused already are left out. b must be the body that the plan was made of.
func (p *Plan) Extend(b *Body, points []Point) (grown []*Site) {
	m := planner{Body: b, index: map[uint64]int{}, plan: *p}
	for i, in := range b.Insts {
		m.index[in.Addr] = i
	}
	for _, s := range p.Sites {
		m.runs = append(m.runs, m.fixed(s)...)
	}
	for _, pt := range points {
		if p.knows(pt) {
			continue
		}
		s, reason := m.extended(pt)
		if reason != "" {
			p.Refused = append(p.Refused, &Refusal{pt, reason})
		} else if s != nil && !slices.Contains(grown, s) {
			grown = append(grown, s)
		}
	}
	m.plan = Plan{}
	m.runs = slices.DeleteFunc(m.runs, func(r *run) bool { return r.site != nil })
	p.Sites = append(p.Sites, m.finish().Sites...)
	slices.SortFunc(p.Sites, func(a, b *Site) int { return cmpAddr(a.Addr, b.Addr) })
	return grown
}

func cmpAddr(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// knows reports whether a point was planned or refused before.
func (p *Plan) knows(pt Point) bool {
	return slices.ContainsFunc(p.Refused, func(r *Refusal) bool { return r.Point == pt }) ||
		slices.ContainsFunc(p.Sites, func(s *Site) bool {
			return slices.ContainsFunc(s.Marks, func(k Mark) bool { return k.Point == pt })
		})
}

// fixed gives the runs of a site that exists.
func (m *planner) fixed(s *Site) []*run {
	lo := m.index[s.Addr]
	r := &run{lo: lo, hi: lo + len(s.Insts), tactic: s.Tactic, pad: s.Pad, site: s}
	if s.Host == nil {
		return []*run{r}
	}
	at := m.index[s.Host.Addr]
	return []*run{r, {lo: at, hi: at + len(s.Host.Insts), tactic: hosting, site: s}}
}

// extended serves a point at a site that is there, which it returns, or plans a new one; or says why neither works.
func (m *planner) extended(p Point) (*Site, string) {
	i, ok := m.index[p.Addr]
	if !ok {
		return nil, "its address is not the start of an instruction that was decoded"
	}
	for _, r := range m.runs {
		if r.site == nil || i < r.lo || i >= r.hi {
			continue
		}
		switch {
		case r.tactic == hosting:
			return nil, "its instruction makes room for another point"
		case r.tactic == Retarget && p.Kind != Taken:
			return nil, "its instruction stays where it is and leads elsewhere, for another point"
		}
		r.site.Marks = append(r.site.Marks, m.mark(p, m.markAt(p, i)-r.lo, r))
		r.site.sortMarks()
		return r.site, ""
	}
	return nil, m.place(p)
}
