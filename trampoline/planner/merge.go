package planner

import (
	"slices"

	"culprit/trampoline/x86"
)

// merge adds a run, joined with those that it overlaps.
func (m *planner) merge(r *run) string {
	if !slices.ContainsFunc(m.runs, func(o *run) bool { return m.overlap(r, o) }) {
		m.runs = append(m.runs, r)
		return ""
	}
	joined := *r
	rest := m.runs[:0:0]
	for _, o := range m.runs {
		if !m.overlap(&joined, o) {
			rest = append(rest, o)
			continue
		}
		if reason := m.join(&joined, o); reason != "" {
			return reason
		}
	}
	m.runs = append(rest, &joined)
	return ""
}

// overlap also sees runs that share no instruction but whose jumps would share bytes.
func (m *planner) overlap(a, b *run) bool {
	aLo, aHi := m.bytes(a)
	bLo, bHi := m.bytes(b)
	return aLo < bHi && bLo < aHi
}

func (m *planner) bytes(r *run) (lo, hi uint64) {
	lo = m.Insts[r.lo].Addr
	last := &m.Insts[r.hi-1]
	hi = last.Addr + uint64(last.Len)
	if r.tactic == Padding && hi < lo+JumpLen {
		hi = lo + JumpLen
	}
	return lo, hi
}

// join makes one run of two that overlap.
func (m *planner) join(a, b *run) string {
	if !a.joins() || !b.joins() {
		return "it overlaps another point that has no room of its own: measure one of the two at a time"
	}
	if a.lo == b.lo && a.hi == b.hi {
		if a.tactic == Retarget && m.Insts[a.lo].Flow == x86.FlowCond {
			a.tactic = b.tactic // a conditional branch that is retargeted serves those only who go where it leads
		}
		a.marks = both(a.marks, b.marks)
		return ""
	}
	lo, hi := min(a.lo, b.lo), max(a.hi, b.hi)
	switch {
	case m.Hidden != "":
		return m.Hidden
	case m.splits(lo, JumpLen):
		return Crossing
	}
	for i := lo; i < hi; i++ {
		in := &m.Insts[i]
		if i > lo && (m.Target(in.Addr) || m.Insts[i-1].Addr+uint64(m.Insts[i-1].Len) != in.Addr) {
			return "it overlaps another point, and something may jump between them"
		}
		if reason := m.movable(in); reason != "" {
			return reason
		}
	}
	t := Window
	if l, h := m.Insts[lo].Addr, m.Insts[hi-1]; h.Addr+uint64(h.Len)-l < JumpLen {
		t = Padding
	}
	*a = run{lo: lo, hi: hi, tactic: t, marks: both(a.marks, b.marks)}
	return ""
}

// joins reports whether a run may become part of a longer one.
func (r *run) joins() bool {
	return r.site == nil && r.tactic != Short && r.tactic != Evicted && r.tactic != Punned && r.tactic != hosting
}

func both(a, b map[Point]int) map[Point]int {
	sum := map[Point]int{}
	for p, i := range a {
		sum[p] = i
	}
	for p, i := range b {
		sum[p] = i
	}
	return sum
}
