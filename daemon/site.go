package daemon

import (
	"slices"

	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/pcl"
	"culprit/trampoline"
)

// A site is a run of instructions of a target that may be displaced, and what runs there.
type site struct {
	*trampoline.Site
	t      *target
	groups []ownedGroup // in order of execution at each point

	base     *trampoline.Base // what is patched in now; nil = the original bytes are there
	baseAddr uint64
	room     segment.Room // where base is
	rooms    segment.Rooms
	pieces   []patched      // written bytes, in order
	gone     bool           // its code was unloaded
	stuck    bool           // our bytes are there still, in code that has moved
	stubs    *segment.Stubs // of a punned site that was patched once
}

// An ownedGroup is the mini-trampolines of one part at one point.
type ownedGroup struct {
	at    trampoline.Point
	part  *part
	group trampoline.Group
}

// A patched piece is one written run of bytes with its ledger entry.
type patched struct {
	s      *site
	addr   uint64
	old    []byte
	new    []byte
	ledger int
}

// siteOf returns the site that serves a point of a function.
func (t *target) siteOf(f *program.Function, pt trampoline.Point) (*site, error) {
	planned, refusal := t.funcPlan(f).plan.SiteOf(pt)
	if refusal != nil {
		return nil, &process.Refused{Point: f.Fn.Name + ": " + pt.Kind.String(), Reason: refusal.Reason}
	}
	if err := t.tooWide(planned); err != nil {
		return nil, err
	}
	s := t.sites[planned.Addr]
	if s == nil {
		s = &site{Site: planned, t: t}
		t.sites[planned.Addr] = s
	}
	if t.inSequence(s) {
		return nil, s.sequenceError()
	}
	if s.Site != planned && !s.Serves(pt) { // functions may share code
		return nil, &process.Refused{Point: f.Fn.Name + ": " + pt.Kind.String(), Reason: "its bytes serve another function"}
	}
	return s, nil
}

// add puts a part's group at a mark; prepend puts its code first within the part's own.
func (s *site) add(pt trampoline.Point, p *part, minis []trampoline.Mini, prepend bool) {
	for k := range s.groups {
		if g := &s.groups[k]; g.part == p && g.at == pt {
			if prepend {
				g.group.Minis = append(append([]trampoline.Mini(nil), minis...), g.group.Minis...)
			} else {
				g.group.Minis = append(g.group.Minis, minis...)
			}
			return
		}
	}
	s.groups = append(s.groups, ownedGroup{pt, p, trampoline.Group{Owner: p.owner, Minis: minis}})
}

// drop removes a part's groups.
func (s *site) drop(p *part) {
	s.groups = slices.DeleteFunc(s.groups, func(g ownedGroup) bool { return g.part == p })
}

// empty reports whether nothing runs at the site.
func (s *site) empty() bool {
	return len(s.groups) == 0
}

// generate makes a new base trampoline for what is wanted at the site and puts it into an island. The target does not
// reach it yet.
func (s *site) generate() (*trampoline.Base, segment.Room, error) {
	sp := s.t.reachIsland(s.Addr)
	if sp == nil {
		return nil, segment.Room{}, &process.Refused{Point: "code at " + hex(s.Addr), Reason: "no trampoline memory within 2 GiB"}
	}
	env, groups := s.t.envOf(sp), s.groupsOf(func(*part) bool { return true })
	at := s.rooms.Likely(sp)
	base, err := trampoline.Generate(env, s.Site, groups, at)
	if err != nil {
		return nil, segment.Room{}, err
	}
	n := len(base.Code)
	r, ok := s.rooms.Take(sp, n)
	if !ok {
		return nil, segment.Room{}, &process.Refused{Point: "code at " + hex(s.Addr), Reason: "the trampoline memory near it is full"}
	}
	if r.Addr != at {
		if base, err = trampoline.Generate(env, s.Site, groups, r.Addr); err != nil {
			s.rooms.Give(r)
			return nil, segment.Room{}, err
		}
	}
	if len(base.Code) != n {
		panic("BUG: the length of a base trampoline depends on where it lies")
	}
	if err := s.takeStubs(sp); err != nil {
		s.rooms.Give(r)
		return nil, segment.Room{}, err
	}
	s.t.seg.Fill(&r, base)
	base.Code = nil // it is in its room
	if s.base == nil {
		s.aim(base, r)
	}
	return base, r, nil
}

// reachIsland finds the island for the code at addr, and makes one if those in reach are full, or if a library was loaded out of the reach
// of those that there are.
func (t *target) reachIsland(addr uint64) *segment.CodeSpace {
	sp := t.seg.Space(addr)
	if sp != nil && sp.HasRoom() || t.ObjectAt(addr) == nil {
		return sp
	}
	if err := t.seg.GrowCode(t.stop, addr); err != nil {
		t.d.logf("%s: %v", t.name, err)
	}
	return t.seg.Space(addr)
}

// envOf is what trampolines in an island have built in.
func (t *target) envOf(sp *segment.CodeSpace) *trampoline.Env {
	return t.seg.EnvAt(sp, trampoline.ScaleOf(t.d.clock.Hz()))
}

// groupsOf are the mini-trampolines of each mark of the site, of those parts that are wanted.
func (s *site) groupsOf(wanted func(*part) bool) [][]trampoline.Group {
	groups := make([][]trampoline.Group, len(s.Marks))
	for i, m := range s.Marks {
		for _, g := range s.groups {
			if g.at == m.Point && wanted(g.part) {
				groups[i] = append(groups[i], g.group)
			}
		}
	}
	return groups
}

// request adds the code of one request of a part to the sites of its points and returns them.
func (p *part) request(r *pcl.Request) ([]*site, error) {
	f := p.t.Func(r.Func)
	if f == nil {
		return nil, &process.Refused{Point: hex(uint64(r.Func)), Reason: "no function there"}
	}
	if pl := p.t.planned(f); pl.reason != "" {
		return nil, &process.Refused{Point: f.Fn.Name, Reason: pl.reason}
	}
	pts := p.t.pointsOf(f, r)
	if len(pts) == 0 && r.Where == pcl.Call && !(r.Post && f.NeverReturns(r.Site)) {
		return nil, &process.Refused{Point: f.Fn.Name, Reason: "a call site is missing"}
	}
	minis, err := p.minis(r)
	if err != nil {
		return nil, err
	}
	jumps, err := p.minis(withoutReturn(r))
	if err != nil {
		return nil, err
	}
	var sites []*site
	for _, e := range pts {
		s, err := p.t.siteOf(e.f, e.pt)
		if err != nil {
			return nil, err
		}
		sites = append(sites, s)
	}
	ends := endsActivations(r)
	for i, e := range pts {
		code := minis
		if e.pt.Kind.IsExit() && e.pt.Kind != trampoline.Ret {
			code = jumps
		}
		if ends && sites[i].has(e.pt, p, code) {
			continue // another function jumps there, too
		}
		sites[i].add(e.pt, p, code, r.Prepend)
	}
	more, err := p.unreturned(f, r)
	return append(sites, more...), err
}
