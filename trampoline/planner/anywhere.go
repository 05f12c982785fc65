package planner

import "culprit/trampoline/x86"

// Points in the middle of functions: single instructions, and the edges of the flow graph of which loops are made.

// anywhere finds a way to a point at instruction i that is no door of the function.
func (m *planner) anywhere(p Point, i int) (*run, string) {
	in := &m.Insts[i]
	switch p.Kind {
	case Taken:
		if in.Flow != x86.FlowJump && in.Flow != x86.FlowCond {
			return nil, "it is no jump whose target is known"
		}
		if r := m.retarget(i); r != nil {
			return r, ""
		}
		return m.covering(i, i+1)
	case Behind:
		return m.behind(i)
	}
	if r, why := m.covering(i, i+1); why == "" || in.Flow != x86.FlowCall && in.Flow != x86.FlowCallInd && in.Flow != x86.FlowSyscall {
		return r, why
	}
	if r := m.retarget(i); r != nil && in.Flow == x86.FlowCall {
		return r, ""
	}
	return m.before(i)
}

// behind finds a way to where control goes on behind instruction i.
func (m *planner) behind(i int) (*run, string) {
	if Ends(&m.Insts[i]) || i+1 == len(m.Insts) || m.Insts[i+1].Addr != m.Insts[i].End() {
		return nil, "control does not go on behind it"
	}
	if m.Hidden == "" && !m.Target(m.Insts[i+1].Addr) {
		return m.covering(i+1, i+1)
	}
	return m.covering(i, i+1) // what follows has other ways in: only those count who come through here
}

// mostBack is how many instructions before a point its site may begin.
const mostBack = 4

// covering finds a run that begins at instruction i or a little before it, and reaches to instruction hi at least. One with room for a
// long jump of its own comes first, since others can join it; padding nearby is taken where there is none.
func (m *planner) covering(i, hi int) (*run, string) {
	pads := m.Pads
	m.Pads = nil
	r, _ := m.back(i, max(hi, i+1))
	m.Pads = pads
	if r != nil && !m.clashes(r) {
		return r, ""
	}
	return m.back(i, max(hi, i+1))
}

// back is the shortest way back from instruction i to where a run that reaches to hi can begin: if it can be, one that takes
// nothing from a site that is there.
func (m *planner) back(i, hi int) (first *run, why string) {
	for lo := i; ; lo-- {
		r, reason := m.reaching(lo, hi, 0)
		if lo == i {
			why = reason
		}
		if reason == "" && r.hi >= hi {
			if !m.clashes(r) {
				return r, ""
			}
			if first == nil {
				first = r
			}
		}
		if lo == i-mostBack || m.extend(lo) != "" {
			break
		}
	}
	if first != nil {
		why = ""
	}
	return first, why
}

// clashes reports whether a run shares bytes with one that cannot grow.
func (m *planner) clashes(r *run) bool {
	for _, o := range m.runs {
		if !o.joins() && m.overlap(r, o) {
			return true
		}
	}
	return false
}

// loopsTo reports whether a jump of the function itself leads to addr. Go's functions jump to their entry when their stack has grown.
func (m *planner) loopsTo(addr uint64) bool {
	if m.Go || !m.Target(addr) {
		return false
	}
	for i := range m.Insts {
		if in := &m.Insts[i]; in.RelLen != 0 && in.Target == addr && in.Flow != x86.FlowCall {
			return true
		}
	}
	return false
}

// mark is how a point is served before instruction `at` of a run.
func (m *planner) mark(p Point, at int, r *run) Mark {
	k := Mark{Index: at, Point: p}
	if i, ok := m.indexOf(p.Addr); ok && p.Kind == CallPre {
		k.Call = &Call{m.Insts[i], m.Bytes(p.Addr, m.Insts[i].Len)}
	}
	i := r.lo + at
	if p.Kind == Taken || r.tactic == Retarget {
		to, inside := m.indexOf(m.Insts[r.lo+at].Target)
		if !inside || m.Insts[r.lo+at].Flow == x86.FlowCall {
			k.keep(m.expected(p.Kind, i))
			return k // at the door of another function
		}
		i = to
	}
	if i >= len(m.Insts) {
		return k
	}
	dead, flagsDead := x86.Dead(m.Insts[i:], m.straight(i))
	if p.Kind != TailCond {
		k.Dead = dead
	}
	if p.Kind.Anywhere() {
		k.keep(x86.Live{Flags: !flagsDead, Below: !m.Go})
	} else {
		k.keep(m.expected(p.Kind, i))
	}
	return k
}

// expected is what may be live at instruction i though no compiler leaves anything there: functions of assembly pass flags and what is
// below the stack pointer to each other. It is told where the code on the other side shows that it is so.
func (m *planner) expected(k PointKind, i int) (live x86.Live) {
	in := &m.Insts[i]
	switch {
	case m.Go:
	case k == Ret:
		live.Flags = m.leavesFlags(i)
	case k == TailInd:
		live.Below = m.writesBelow()
	case in.RelLen != 0 && (k == TailJump || k == TailCond || k == CallPre):
		if m.Elsewhere != nil {
			live = x86.Expects(m.Elsewhere(in.Target))
		}
	case k == FuncEntry || k == CallPost:
		live = x86.Expects(m.Insts[i:], m.straight(i))
	}
	return live
}

// mostBefore is how many instructions before a return are looked at.
const mostBefore = 8

// leavesFlags reports whether the instructions before a return set the flags for the caller.
func (m *planner) leavesFlags(ret int) bool {
	lo := ret
	for lo > 0 && ret-lo < mostBefore && m.Insts[lo-1].Flow == x86.FlowNext && m.Insts[lo-1].End() == m.Insts[lo].Addr {
		lo--
	}
	from := m.Insts[lo].Addr
	return x86.LeavesFlags(m.Insts[lo:ret], m.Bytes(from, int(m.Insts[ret].Addr-from)))
}

// writesBelow reports whether the function writes below its stack pointer where it has not moved it.
func (m *planner) writesBelow() bool {
	for i := range m.Insts {
		if in := &m.Insts[i]; in.HasModRM && in.StoresBelow(m.Bytes(in.Addr, in.Len)) {
			return true
		}
	}
	return false
}

// straight is the code from instruction i on as far as x86.Dead and x86.Expects may look.
func (m *planner) straight(i int) []byte {
	end := m.Insts[i].End()
	for j := i + 1; j < len(m.Insts) && j < i+x86.MostExpects && m.Insts[j].Addr == end; j++ {
		end = m.Insts[j].End()
	}
	return m.Bytes(m.Insts[i].Addr, int(end-m.Insts[i].Addr))
}
