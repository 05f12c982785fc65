package planner

import "slices"

// Extend makes the plan that serves further points, too. Sites in use stay what they are: a point whose instruction moves with one
// is served there, by a mark more (the site is among grown). What is not in use may be planned anew, to make room; of what was
// planned before, exits and entries come first, calls last. b must be the body that the plan was made of.
func (p *Plan) Extend(b *Body, points []Point, inUse func(*Site) bool) (next *Plan, grown []*Site) {
	m := newPlanner(b)
	var before []Point
	for _, s := range p.Sites {
		if inUse(s) {
			m.runs = append(m.runs, m.fixed(s)...)
			m.plan.Sites = append(m.plan.Sites, s)
			continue
		}
		for _, k := range s.Marks {
			before = append(before, k.Point)
		}
	}
	for _, r := range p.Refused {
		before = append(before, r.Point)
	}
	for _, pt := range points {
		if !slices.Contains(before, pt) && !m.plan.serves(pt) {
			before = append(before, pt)
		}
	}
	slices.SortStableFunc(before, func(a, b Point) int { return priority(a.Kind) - priority(b.Kind) })
	return m.planAll(before), m.grown
}

// priority orders points by how much they are worth: those of metrics before those that serve to leave callees out.
func priority(k PointKind) int {
	switch {
	case k == CallPre, k == CallPost:
		return 2
	case k.Anywhere():
		return 1
	case k == FuncEntry:
		return -1
	}
	return 0
}

// Knows reports whether the point was planned or refused.
func (p *Plan) Knows(pt Point) bool {
	return p.serves(pt) || slices.ContainsFunc(p.Refused, func(r *Refusal) bool { return r.Point == pt })
}

// serves reports whether a site of the plan has a mark for the point.
func (p *Plan) serves(pt Point) bool {
	s, _ := p.SiteOf(pt)
	return s != nil
}

// fixed gives the runs of a site that exists.
func (m *planner) fixed(s *Site) []*run {
	lo, _ := m.indexOf(s.Addr)
	r := &run{lo: lo, hi: lo + len(s.Insts), tactic: s.Tactic, pad: s.Pad, site: s}
	if s.Host == nil {
		return []*run{r}
	}
	at, _ := m.indexOf(s.Host.Addr)
	return []*run{r, {lo: at, hi: at + len(s.Host.Insts), tactic: hosting, site: s}}
}

// joinFixed serves a point at a site in use whose instructions it is among; ok is false if it is among none.
func (m *planner) joinFixed(p Point, i int) (ok bool, reason string) {
	for _, r := range m.runs {
		if r.site != nil && p.Kind == CallPre && r.hi == i && m.leadsOn(r) {
			m.grow(r, p, i)
			return true, ""
		}
		if r.site == nil || i < r.lo || i >= r.hi {
			continue
		}
		switch {
		case r.tactic == hosting:
			return true, "its instruction makes room for another point"
		case r.tactic == Retarget && p.Kind != Taken:
			return true, "its instruction stays where it is and leads elsewhere, for another point"
		}
		m.grow(r, p, m.markAt(p, i))
		return true, ""
	}
	return false, ""
}

// leadsOn reports whether a run in use is the only way to the instruction behind it, a call that cannot be retargeted itself.
func (m *planner) leadsOn(r *run) bool {
	next := &m.Insts[r.hi]
	return m.Insts[r.hi-1].End() == next.Addr && !m.Target(next.Addr) && m.Hidden == "" &&
		(r.tactic == Punned || r.tactic == Window && m.retarget(r.hi) == nil)
}

// grow has the site of a run serve a point before instruction i of the function.
func (m *planner) grow(r *run, p Point, i int) {
	r.site.Marks = append(r.site.Marks, m.mark(p, i-r.lo, r))
	r.site.sortMarks()
	if !slices.Contains(m.grown, r.site) {
		m.grown = append(m.grown, r.site)
	}
}
