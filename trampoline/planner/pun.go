package planner

import (
	"encoding/binary"
	"fmt"

	"culprit/trampoline/x86"
)

// A punned site has one to four bytes, too few for a long jump: the displacement of its jump ends in the first bytes of what
// follows. What follows must become a branch, too, whose own displacement can be chosen: either it is a call, which keeps its
// opcode and is retargeted, or instructions that nothing jumps into, which move away like those of a host. So of the jump's
// displacement the opcode of that branch is dictated, and what comes behind it both branches share:
//
//	bytes at the site     the jump                    the branch behind it
//	1                     E9 | E8 a b c               E8 a b c .
//	2                     E9 . | E8 a b               E8 a b . .
//	3                     E9 . . | E8 a               E8 a . . .
//	4                     2E E9 . . | E8 a            E8 a . . .
//
// With four bytes the jump gets a prefix without a meaning: without it the opcode would be the highest byte of the displacement
// and would lead 400 MiB down. The branches lead to stubs at places that fit, and those to the base trampoline.

// maxPunned is how many bytes a punned site has at most: with five there is room for a jump.
const maxPunned = JumpLen - 1

// NoMeaning is the prefix that takes a byte: a segment override, which a near jump ignores (assemblers align branches with it).
const NoMeaning = 0x2E

// placePunned finds a way to the point at instruction i whose only room are a few bytes; reason is why there is no other.
func (m *planner) placePunned(p Point, i int, reason string) string {
	for _, r := range m.narrow(p, i) {
		h := m.punnable(r)
		if h == nil {
			continue
		}
		r.host, r.marks = h, map[Point]int{p: i}
		if m.merge(r) == "" {
			m.runs = append(m.runs, h)
			return ""
		}
	}
	return reason
}

// narrow lists the runs of up to four bytes that a point at instruction i can be served from, the shortest first.
func (m *planner) narrow(p Point, i int) (runs []*run) {
	switch {
	case p.Kind == FuncEntry:
		if i = m.entry(i); m.loopsTo(p.Addr) || m.loopsTo(m.Insts[i].Addr) {
			return nil
		}
		have := 0
		for hi := i; hi < len(m.Insts) && m.movable(&m.Insts[hi]) == "" && (hi == i || !m.Target(m.Insts[hi].Addr)); hi++ {
			if have += m.Insts[hi].Len; have > maxPunned {
				break
			}
			runs = append(runs, &run{lo: i, hi: hi + 1, tactic: Punned})
		}
	case p.Kind.IsExit() && m.movable(&m.Insts[i]) == "":
		for lo, have := i, m.Insts[i].Len; have <= maxPunned; have += m.Insts[lo].Len {
			runs = append(runs, &run{lo: lo, hi: i + 1, tactic: Punned})
			if m.extend(lo) != "" {
				break
			}
			lo--
		}
	}
	return runs
}

// punnable is the host behind a run that is as short as that of a punned site; nil if there is none, or if their bytes cannot
// be written at once.
func (m *planner) punnable(r *run) *run {
	end := m.Insts[r.hi-1].End()
	if r.hi >= len(m.Insts) || m.Insts[r.hi].Addr != end || InTwoPages(m.Insts[r.lo].Addr, int(end-m.Insts[r.lo].Addr)+JumpLen) {
		return nil
	}
	h := m.successor(r.hi)
	if h == nil || m.Hidden != "" && (r.hi-r.lo > 1 || h.hi-h.lo > 1) {
		return nil
	}
	return h
}

// behindPunned serves the point before a call that is retargeted for a punned site by that site, whose trampoline leads to the call,
// unless something else may lead there, too.
func (m *planner) behindPunned(p Point, i int) bool {
	if p.Kind != CallPre || m.Target(p.Addr) {
		return false
	}
	for _, r := range m.runs {
		if r.site == nil && r.tactic == Punned && r.hi == i && m.Insts[r.hi-1].End() == p.Addr {
			r.marks[p] = i
			return true
		}
	}
	return false
}

// successor is the host that begins with instruction i: a call, or what fills a jump.
func (m *planner) successor(i int) *run {
	if in := &m.Insts[i]; retargetable(in) && m.stays(in) == "" {
		return m.unlessTaken(&run{lo: i, hi: i + 1, tactic: hosting})
	}
	return m.filling(i, JumpLen)
}

// retargetable reports whether an instruction is a call of five bytes, E8 rel32.
func retargetable(in *x86.Inst) bool {
	return in.Flow == x86.FlowCall && in.Len == JumpLen && in.RelOff == 1 && in.RelLen == 4 && !in.PCSensitive
}

// Call is the function that a punned site's successor calls; 0 if it is no call.
func (h *Host) Call() uint64 {
	if in := &h.Insts[0]; len(h.Insts) == 1 && retargetable(in) {
		return in.Target
	}
	return 0
}

// opcode is that of the branch behind a punned site.
func (h *Host) opcode() byte {
	if h.Call() != 0 {
		return 0xE8
	}
	return 0xE9
}

// jumpAt is where the long jump of a punned site begins, behind its prefix if it has one.
func (s *Site) jumpAt() uint64 { return s.Addr + uint64(max(0, s.Len-(maxPunned-1))) }

// Dictated is the index of the byte of the jump's displacement that is the opcode of the branch behind the site: 0 to 2.
func (s *Site) Dictated() int { return int(s.End()-s.jumpAt()) - 1 }

// FirstPunStub is the lowest address from at on where the stub of a punned site's own jump can be.
func (s *Site) FirstPunStub(at uint64) uint64 {
	next, shift := s.jumpAt()+JumpLen, 8*s.Dictated()
	rel := at - next
	if more := s.Host.opcode() - byte(rel>>shift); more != 0 {
		rel = rel>>shift<<shift + uint64(more)<<shift
	}
	return next + rel
}

// PunStub is the lowest address from at on where the stub of the branch behind a punned site can be if that of the site's own
// jump is at first; ok is false if there is none that the branches reach.
func (s *Site) PunStub(first, at uint64) (successor uint64, ok bool) {
	rel, err := rel32(s.jumpAt()+JumpLen, first)
	if k := s.Dictated(); err == nil && rel[k] == s.Host.opcode() {
		shared := rel[k+1:]
		unit := uint64(1) << (8 * len(shared))
		low := uint64(binary.LittleEndian.Uint32(append(append([]byte(nil), shared...), 0, 0, 0, 0)))
		next := s.End() + JumpLen
		successor = at + (low-(at-next))&(unit-1)
		_, err = rel32(next, successor)
		return successor, err == nil
	}
	return 0, false
}

// punned is the piece of a punned site: its jump to w.Site, and the branch behind it to w.Host.
func (s *Site) punned(w Way) ([]Piece, error) {
	first, err := Jump(s.jumpAt(), w.Site)
	if err != nil {
		return nil, err
	}
	second, err := rel32(s.End()+JumpLen, w.Host)
	if err != nil {
		return nil, err
	}
	behind := append([]byte{s.Host.opcode()}, second[:]...)
	have := s.Dictated() + 1 // bytes of the jump that are in the site
	if string(first[have:]) != string(behind[:JumpLen-have]) {
		return nil, fmt.Errorf("stubs at %#x and %#x do not fit the code at %#x", w.Site, w.Host, s.Addr)
	}
	var code []byte
	for at := s.Addr; at < s.jumpAt(); at++ {
		code = append(code, NoMeaning)
	}
	return []Piece{{s.Addr, append(append(code, first[:have]...), behind...)}}, nil
}
