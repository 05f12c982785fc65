package planner

import (
	"slices"

	"culprit/trampoline/x86"
)

// A Host is a run of instructions that makes room for a point. Near a point that has room for a short jump only it moves into
// the point's base trampoline and leaves its place to two long jumps: one to where it went, one to the entry of the base
// trampoline. Behind a punned site it leaves its place to one.
type Host struct {
	Addr  uint64
	Len   int // bytes of all its instructions
	Insts []x86.Inst
	Code  []byte // their bytes
}

// HostLen is how many bytes are needed in place of instructions that make room for another site: a jump for each of the two.
const HostLen = 2 * JumpLen

// End is the address behind the instructions.
func (h *Host) End() uint64 { return h.Addr + uint64(h.Len) }

// slot is where the short jump leads.
func (h *Host) slot() uint64 { return h.Addr + JumpLen }

// placeEvicted finds a way to the point at instruction i whose only room is for a short jump, by moving instructions nearby out of its way; reason
// is why there is no other.
func (m *planner) placeEvicted(p Point, i int, reason string) string {
	m.evicting = true
	r, why := m.way(p, i)
	m.evicting = false
	if why != "" || r.tactic != Evicted {
		return m.placePunned(p, i, reason)
	}
	if m.crosses(r) {
		return reason
	}
	r.marks = map[Point]int{p: m.markAt(p, i)}
	if why := m.merge(r); why != "" {
		return why
	}
	m.runs = append(m.runs, r.host)
	return ""
}

// host looks for instructions to evict within a short jump of the run [lo, hi); nil if there are none.
func (m *planner) host(lo, hi int) *run {
	at := m.Insts[lo].Addr + ShortLen
	reaches := func(i int) bool {
		d := int64(m.Insts[i].Addr+JumpLen) - int64(at)
		return d >= -128 && d <= 127
	}
	serves := func(i int) bool { return reaches(i) && samePage(m.Insts[i].Addr, m.Insts[lo].Addr) }
	for i := hi; i < len(m.Insts) && (reaches(i) || m.Insts[i].Addr < at); i++ {
		if h := m.hostAt(i); h != nil && serves(i) {
			return h
		}
	}
	for i := lo - 1; i >= 0 && (reaches(i) || m.Insts[i].Addr > at); i-- {
		if h := m.hostAt(i); h != nil && serves(i) && h.hi <= lo {
			return h
		}
	}
	return nil
}

// hostAt is the shortest host that begins with instruction i, if that can be one.
func (m *planner) hostAt(i int) *run {
	start := m.Insts[i].Addr
	if InTwoPages(start, HostLen) {
		return nil
	}
	return m.filling(i, HostLen)
}

// filling is the shortest run of n bytes or more from instruction i on that can move away; nil if there is none.
func (m *planner) filling(i, n int) *run {
	h := &run{lo: i, tactic: hosting}
	start := m.Insts[i].Addr
	for j := i; j < len(m.Insts); j++ {
		in := &m.Insts[j]
		if in.Endbr || m.movable(in) != "" || j > i && (m.Target(in.Addr) || m.Insts[j-1].End() != in.Addr) {
			return nil
		}
		if h.hi = j + 1; in.End() >= start+uint64(n) {
			return m.unlessTaken(h)
		}
		if Ends(in) {
			return nil
		}
	}
	return nil
}

func (m *planner) unlessTaken(h *run) *run {
	for _, o := range m.runs {
		if m.overlap(h, o) {
			return nil
		}
	}
	return h
}

// hostOf is the host of a run as part of its site.
func (m *planner) hostOf(r *run) *Host {
	if r.host == nil {
		return nil
	}
	h := &Host{Addr: m.Insts[r.host.lo].Addr, Insts: slices.Clone(m.Insts[r.host.lo:r.host.hi])}
	for _, in := range h.Insts {
		h.Len += in.Len
	}
	h.Code = m.Bytes(h.Addr, h.Len)
	return h
}
