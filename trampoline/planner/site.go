package planner

import (
	"fmt"
	"slices"
	"sort"

	"culprit/trampoline/x86"
)

// A Mark says that a point is served before displaced instruction Index of its site (len(Insts) = behind the last), and what
// code there must keep: of the general registers all but the dead ones, the flags and the red zone if they are set.
type Mark struct {
	Index   int
	Point   Point
	Dead    x86.RegSet
	Flags   bool
	RedZone bool
	Call    *Call // for CallPre
}

// keep has a mark save what is live.
func (m *Mark) keep(l x86.Live) { m.Flags, m.RedZone = l.Flags, l.Below }

// A Call is the instruction that a point lies before.
type Call struct {
	Inst x86.Inst
	Code []byte
}

// A Site is a run of instructions that moves into a base trampoline, and how control gets there.
type Site struct {
	Tactic Tactic
	Addr   uint64 // of the first displaced instruction
	Len    int    // bytes of all displaced instructions
	Insts  []x86.Inst
	Code   []byte // their bytes
	Marks  []Mark // in order of Index
	Pad    Pad    // for Short
	Host   *Host  // for Evicted and Punned
}

// End is the address behind the displaced instructions.
func (s *Site) End() uint64 { return s.Addr + uint64(s.Len) }

// Interior reports whether pc is inside the site but not at its beginning: where a thread must not stand when it is patched.
func (s *Site) Interior(pc uint64) bool {
	return len(s.Insts) > 1 && pc > s.Addr && pc < s.End()
}

// Landing is the long jump that a short jump at the site leads to; ok is false where there is none.
func (s *Site) Landing() (lo, hi uint64, ok bool) {
	switch s.Tactic {
	case Short:
		return s.Pad.Addr, s.Pad.Addr + uint64(s.Pad.Len), true
	case Evicted:
		return s.Host.slot(), s.Host.slot() + JumpLen, true
	}
	return 0, 0, false
}

func (s *Site) sortMarks() {
	sort.Slice(s.Marks, func(i, j int) bool {
		a, b := s.Marks[i], s.Marks[j]
		return a.Index < b.Index || a.Index == b.Index && markOrder(a.Point.Kind) < markOrder(b.Point.Kind)
	})
}

// markOrder puts what happens first first where two points meet at one instruction: a call returns, then the function goes on.
func markOrder(k PointKind) int {
	switch k {
	case CallPost, Behind:
		return 0
	case FuncEntry:
		return 1
	case Before:
		return 2
	case CallPre:
		return 3
	}
	return 4
}

// Serves reports whether the site has a mark for the point.
func (s *Site) Serves(pt Point) bool {
	return slices.ContainsFunc(s.Marks, func(k Mark) bool { return k.Point == pt })
}

// A Way is where the jumps of a site lead to: to its base trampoline, or to stubs that lead there.
type Way struct {
	Site uint64
	Host uint64 // the jump in place of its host, if it has one
}

// Patch returns the bytes to write so that control goes the way: pieces in the order in which they must be written.
func (s *Site) Patch(w Way) ([]Piece, error) {
	tramp := w.Site
	switch s.Tactic {
	case Retarget:
		in := &s.Insts[0]
		rel, err := rel32(s.End(), tramp)
		if err != nil {
			return nil, err
		}
		return []Piece{{s.Addr + uint64(in.RelOff), rel[:]}}, nil
	case Short:
		long, err := Jump(s.Pad.Addr, tramp)
		if err != nil {
			return nil, err
		}
		return s.shortTo(Piece{s.Pad.Addr, long})
	case Evicted:
		away, err := Jump(s.Host.Addr, w.Host)
		if err != nil {
			return nil, err
		}
		long, err := Jump(s.Host.slot(), tramp)
		if err != nil {
			return nil, err
		}
		return s.shortTo(Piece{s.Host.Addr, append(away, long...)})
	case Punned:
		return s.punned(w)
	}
	j, err := Jump(s.Addr, tramp)
	if err != nil {
		return nil, err
	}
	return []Piece{{s.Addr, j}}, nil
}

// shortTo adds the short jump to the piece that it leads into.
func (s *Site) shortTo(p Piece) ([]Piece, error) {
	to, _, _ := s.Landing()
	d := int64(to) - int64(s.Addr+ShortLen)
	if d < -128 || d > 127 {
		return nil, fmt.Errorf("the jump at %#x is too far from %#x", to, s.Addr)
	}
	return []Piece{p, {s.Addr, []byte{0xEB, byte(int8(d))}}}, nil
}

// A Piece is a run of bytes to be written at an address of the target.
type Piece struct {
	Addr  uint64
	Bytes []byte
}

// Jump is the jump between two addresses. The error is that they are too far from each other.
func Jump(from, to uint64) ([]byte, error) {
	rel, err := rel32(from+JumpLen, to)
	return append([]byte{0xE9}, rel[:]...), err
}

func rel32(next, to uint64) (b [4]byte, err error) {
	d := int64(to - next)
	if d != int64(int32(d)) {
		return b, fmt.Errorf("the trampoline at %#x is more than 2 GiB from %#x", to, next)
	}
	return [4]byte{byte(d), byte(d >> 8), byte(d >> 16), byte(d >> 24)}, nil
}
