package patch

import (
	"reflect"
	"slices"

	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/trampoline"
	"culprit/trampoline/planner"
)

// A Site is a run of instructions of a process that may be displaced, and what runs there.
type Site struct {
	*planner.Site
	groups []ownedGroup // in order of execution at each point

	base     *trampoline.Base // what is patched in now; nil = the original bytes are there
	baseAddr uint64
	room     segment.Room // where base is
	rooms    segment.Rooms
	pieces   []Piece        // written bytes, in order
	gone     bool           // its code was unloaded
	stuck    bool           // our bytes are there still, in code that has moved
	stubs    *segment.Stubs // of a punned site that was patched once
}

// An ownedGroup is the mini-trampolines of one owner at one point.
type ownedGroup struct {
	at    planner.Point
	owner Owner
	group trampoline.Group
}

// A Piece is one written run of bytes with its ledger entry.
type Piece struct {
	site   *Site
	Addr   uint64
	Old    []byte
	New    []byte
	ledger int
}

// Add puts an owner's code at a mark; prepend puts it first within the owner's own. id is by what trampolines know the owner.
func (s *Site) Add(pt planner.Point, owner Owner, id uint64, minis []trampoline.Mini, prepend bool) {
	for k := range s.groups {
		if g := &s.groups[k]; g.owner == owner && g.at == pt {
			if prepend {
				g.group.Minis = append(append([]trampoline.Mini(nil), minis...), g.group.Minis...)
			} else {
				g.group.Minis = append(g.group.Minis, minis...)
			}
			return
		}
	}
	s.groups = append(s.groups, ownedGroup{pt, owner, trampoline.Group{Owner: id, Minis: minis}})
}

// Has reports whether an owner has the same code at a point already.
func (s *Site) Has(pt planner.Point, owner Owner, minis []trampoline.Mini) bool {
	for _, g := range s.groups {
		if g.owner != owner || g.at != pt {
			continue
		}
		return !slices.ContainsFunc(minis, func(m trampoline.Mini) bool {
			return !slices.ContainsFunc(g.group.Minis, func(o trampoline.Mini) bool { return reflect.DeepEqual(m, o) })
		})
	}
	return false
}

// Drop removes an owner's code from what is wanted at the site.
func (s *Site) Drop(owner Owner) {
	s.groups = slices.DeleteFunc(s.groups, func(g ownedGroup) bool { return g.owner == owner })
}

// Empty reports whether nothing is wanted at the site.
func (s *Site) Empty() bool { return len(s.groups) == 0 }

// Patched reports whether the site is in the text.
func (s *Site) Patched() bool { return s.base != nil }

// Gone reports whether the site's code was unloaded.
func (s *Site) Gone() bool { return s.gone }

// TrampolineAt is where the trampoline of the site is, or was last: another address tells that it was made anew. 0 if there was none.
func (s *Site) TrampolineAt() uint64 { return s.baseAddr }

// Owners are those whose code is wanted at the site.
func (s *Site) Owners() (owners []Owner) {
	for _, g := range s.groups {
		if !slices.Contains(owners, g.owner) {
			owners = append(owners, g.owner)
		}
	}
	return owners
}

// Runs reports whether an owner has code at a point.
func (s *Site) Runs(owner Owner, at planner.Point) bool {
	return slices.ContainsFunc(s.groups, func(g ownedGroup) bool { return g.owner == owner && g.at == at })
}

// isBare tells that there is nothing of ours at a site, and nothing wanted.
func (s *Site) isBare() bool { return s.gone || s.Empty() && s.base == nil }

// inUse reports whether anything runs at the site, or ever did: what children may still run in stays what it is.
func (s *Site) inUse() bool {
	return s.base != nil || !s.Empty() || len(s.pieces) > 0 || s.rooms.Has() || s.room.Size > 0 || s.stubs != nil
}

// grown is called when a site serves more points than before. Its trampolines may begin otherwise from now on, so that what
// children run in may not be written over: the rooms of old versions stay as they are for good.
func (s *Site) grown() {
	s.rooms = segment.Rooms{}
	s.room.Leave()
}

// groupsOf are the mini-trampolines of each mark of the site, of those owners that are wanted.
func (s *Site) groupsOf(wanted func(Owner) bool) [][]trampoline.Group {
	groups := make([][]trampoline.Group, len(s.Marks))
	for i, m := range s.Marks {
		for _, g := range s.groups {
			if g.at == m.Point && wanted(g.owner) {
				groups[i] = append(groups[i], g.group)
			}
		}
	}
	return groups
}

// SwitchOff turns the code of an owner off at a site that is in the text, by a store each; id is that of Add. on tells of owners whether they still
// want theirs.
func (t *Text) SwitchOff(s *Site, id uint64, on func(Owner) bool) {
	if s.base == nil {
		return
	}
	for _, at := range s.base.Toggles[id] {
		t.seg.Toggle(s.baseAddr+uint64(at), s.base.Off(at))
	}
	if !slices.ContainsFunc(s.groups, func(g ownedGroup) bool { return on(g.owner) }) {
		t.seg.Toggle(s.baseAddr+uint64(s.base.Switch), s.base.Off(s.base.Switch))
	}
}

// generate makes a new base trampoline for what is wanted at the site and puts it into an island. The process does not
// reach it yet.
func (t *Text) generate(s *Site) (*trampoline.Base, segment.Room, error) {
	sp := t.Island(s.Addr)
	if sp == nil {
		return nil, segment.Room{}, &process.Refused{Point: At(s.Addr), Reason: "no trampoline memory within 2 GiB"}
	}
	env, groups := t.seg.EnvAt(sp, t.Scale()), s.groupsOf(func(Owner) bool { return true })
	at := s.rooms.Likely(sp)
	base, err := trampoline.Generate(env, s.Site, groups, at)
	if err != nil {
		return nil, segment.Room{}, err
	}
	n := len(base.Code)
	r, ok := s.rooms.Take(sp, n)
	if !ok {
		return nil, segment.Room{}, &process.Refused{Point: At(s.Addr), Reason: "the trampoline memory near it is full"}
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
	t.seg.Fill(&r, base)
	base.Code = nil // it is in its room
	if s.base == nil {
		t.aim(s, base, r)
	}
	return base, r, nil
}

// Show makes the trampoline that an owner alone would have at a site, without putting it anywhere, and tells where it would lie.
func (t *Text) Show(s *Site, owner Owner) (code []byte, at uint64, err error) {
	sp := t.seg.Space(s.Addr)
	if sp == nil {
		return nil, 0, &process.Refused{Point: At(s.Addr), Reason: "no trampoline memory within 2 GiB"}
	}
	at = s.rooms.Likely(sp)
	base, err := trampoline.Generate(t.seg.EnvAt(sp, t.Scale()), s.Site, s.groupsOf(func(o Owner) bool { return o == owner }), at)
	if err != nil {
		return nil, 0, err
	}
	return base.Code, at, nil
}
