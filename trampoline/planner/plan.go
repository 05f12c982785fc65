package planner

import (
	"slices"
	"sort"

	"culprit/trampoline/x86"
)

// A Tactic is a way from a point to its base trampoline.
type Tactic string

// The tactics, in the order of the ladder.
const (
	Retarget Tactic = "retarget" // the displacement of an existing direct branch
	Single   Tactic = "single"   // one instruction of five bytes or more
	Padding  Tactic = "padding"  // the last instruction and the padding behind it
	Window   Tactic = "window"   // several instructions that nothing can jump into
	Short    Tactic = "island"   // a two-byte jump to a five-byte jump in padding nearby
	Evicted  Tactic = "evicted"  // a two-byte jump to a five-byte jump in place of instructions nearby
	Punned   Tactic = "punned"   // one to four bytes, whose jump shares bytes with the branch behind it
)

// hosting is what instructions are planned for that make room for another site.
const hosting Tactic = "host"

// JumpLen and ShortLen are the lengths of the two jumps, in bytes.
const (
	JumpLen  = 5 // jmp rel32
	ShortLen = 2 // jmp rel8
)

// A Plan is how every point of one function is reached.
type Plan struct {
	Sites   []*Site
	Refused []*Refusal
}

// Copy is a plan that is extended without the other.
func (p *Plan) Copy() *Plan {
	c := &Plan{Sites: make([]*Site, len(p.Sites)), Refused: slices.Clone(p.Refused)}
	for i, s := range p.Sites {
		own := *s
		own.Marks = slices.Clone(s.Marks)
		c.Sites[i] = &own
	}
	return c
}

// SiteOf returns the site that serves a point, or the reason why there is none.
func (p *Plan) SiteOf(pt Point) (*Site, *Refusal) {
	for _, s := range p.Sites {
		for _, m := range s.Marks {
			if m.Point == pt {
				return s, nil
			}
		}
	}
	for _, r := range p.Refused {
		if r.Point == pt {
			return nil, r
		}
	}
	return nil, &Refusal{pt, "no such point in the function"}
}

// MakePlan plans all points of a function together, so that sites never overlap and stay as they are while points are
// turned on and off. Earlier points have the better chance: give entries and exits before calls. Entries and exits that find
// no room of their own have others make room for them, before calls take it.
func MakePlan(b *Body, points []Point) *Plan { return newPlanner(b).planAll(points) }

func newPlanner(b *Body) *planner {
	return &planner{Body: b}
}

// indexOf finds the instruction that starts at addr.
func (m *planner) indexOf(addr uint64) (i int, ok bool) {
	i = sort.Search(len(m.Insts), func(i int) bool { return m.Insts[i].Addr >= addr })
	return i, i < len(m.Insts) && m.Insts[i].Addr == addr
}

// planAll plans points beside the runs that are there.
func (m *planner) planAll(points []Point) *Plan {
	calls := slices.IndexFunc(points, func(p Point) bool { return p.Kind == CallPre || p.Kind == CallPost })
	if calls < 0 {
		calls = len(points)
	}
	var refused []*Refusal
	for _, p := range points[:calls] {
		refused = m.try(p, refused)
	}
	for _, r := range refused {
		if i, ok := m.indexOf(r.Point.Addr); ok {
			r.Reason = m.placeEvicted(r.Point, i, r.Reason)
		}
	}
	for _, p := range points[calls:] {
		refused = m.try(p, refused)
	}
	m.plan.Refused = slices.DeleteFunc(refused, func(r *Refusal) bool { return r.Reason == "" })
	return m.finish()
}

// try places a point, or adds why not to the refused.
func (m *planner) try(p Point, refused []*Refusal) []*Refusal {
	if reason := m.place(p); reason != "" {
		return append(refused, &Refusal{p, reason})
	}
	return refused
}

// A run is a site that grows: instructions [lo, hi) of the body.
type run struct {
	lo, hi int
	tactic Tactic
	pad    Pad
	host   *run          // for Evicted
	marks  map[Point]int // instruction index in the body
	site   *Site         // of a plan that is extended: it stays as it is
}

type planner struct {
	*Body
	runs []*run
	plan Plan

	evicting bool    // others may be moved to make room
	grown    []*Site // sites in use that serve more points now
}

// place finds a way to one point; "" or the reason why there is none.
func (m *planner) place(p Point) string {
	i, ok := m.indexOf(p.Addr)
	if !ok {
		return "its address is not the start of an instruction that was decoded"
	}
	if ok, reason := m.joinFixed(p, i); ok {
		return reason
	}
	if m.behindPunned(p, i) {
		return ""
	}
	r, reason := m.way(p, i)
	if reason != "" {
		return reason
	}
	if m.crosses(r) {
		return Crossing
	}
	r.marks = map[Point]int{p: max(m.markAt(p, i), r.lo)} // its run begins later behind an endbr64, and at the next call
	return m.merge(r)
}

// markAt is the instruction before which a point is served.
func (m *planner) markAt(p Point, i int) int {
	if p.Kind == Behind {
		return i + 1
	}
	return i
}

// pageSize is that of x86-64.
const pageSize = 4096

// Crossing is why a point is refused whose jump lies in two pages.
const Crossing = "its jump would cross a page, which cannot be written at once"

// crosses reports whether what is written for a run lies in two pages: the program may lose one of them, and what a short jump leads to with it.
func (m *planner) crosses(r *run) bool {
	lo, hi := m.written(r)
	switch r.tactic {
	case Short:
		lo, hi = min(lo, r.pad.Addr), max(hi, r.pad.Addr+JumpLen)
	case Evicted:
		lo, hi = min(lo, m.Insts[r.host.lo].Addr), max(hi, m.Insts[r.host.lo].Addr+HostLen)
	}
	return InTwoPages(lo, int(hi-lo))
}

// splits reports whether n bytes from the start of instruction i on lie in two pages.
func (m *planner) splits(i, n int) bool { return InTwoPages(m.Insts[i].Addr, n) }

// InTwoPages reports whether n bytes from an address on lie in two pages.
func InTwoPages(addr uint64, n int) bool { return addr/pageSize != (addr+uint64(n)-1)/pageSize }

// samePage reports whether two addresses lie in one page.
func samePage(a, b uint64) bool { return a/pageSize == b/pageSize }

// written is the range of bytes that change at the site itself.
func (m *planner) written(r *run) (lo, hi uint64) {
	in := &m.Insts[r.lo]
	switch r.tactic {
	case Retarget:
		return in.Addr + uint64(in.RelOff), in.Addr + uint64(in.RelOff) + 4
	case Short, Evicted:
		return in.Addr, in.Addr + ShortLen
	}
	return in.Addr, in.Addr + JumpLen
}

func (m *planner) way(p Point, i int) (*run, string) {
	in := &m.Insts[i]
	switch p.Kind {
	case Before, Behind, Taken:
		return m.anywhere(p, i)
	case FuncEntry:
		if i = m.entry(i); m.loopsTo(in.Addr) || m.loopsTo(m.Insts[i].Addr) {
			return nil, "a loop leads back to it, and going round cannot be told from entering"
		}
		if r := m.retarget(i); r != nil && m.Insts[i].Flow == x86.FlowCall {
			return r, ""
		}
		return m.forward(i, 0)
	case CallPost:
		r, reason := m.forward(i, 0)
		if next := m.nextCall(i); reason != "" && next != nil {
			return next, ""
		}
		return r, reason
	case CallPre:
		if r := m.retarget(i); r != nil {
			return r, ""
		}
		return m.before(i)
	case TailJump, TailCond:
		if r := m.retarget(i); r != nil {
			return r, ""
		}
	}
	return m.backward(i)
}

// entry is the instruction before which the entry at instruction i is served: behind endbr64.
func (m *planner) entry(i int) int {
	if m.Insts[i].Endbr && i+1 < len(m.Insts) {
		return i + 1
	}
	return i
}

// retarget is the way by the displacement of the direct branch at i; nil if it has none that can be written at once.
func (m *planner) retarget(i int) *run {
	in := &m.Insts[i]
	if in.RelLen != 4 || in.PCSensitive || m.stays(in) != "" || InTwoPages(in.Addr+uint64(in.RelOff), in.RelLen) {
		return nil
	}
	return &run{lo: i, hi: i + 1, tactic: Retarget}
}

// forward takes instructions from i on until a jump fits.
func (m *planner) forward(i, have int) (*run, string) { return m.reaching(i, i+1, have) }

// reaching is forward for a run that goes on to instruction hi at least; it ends before where that is not possible.
func (m *planner) reaching(i, hi, have int) (*run, string) {
	for j := i; j < len(m.Insts); j++ {
		in := &m.Insts[j]
		if m.evicting && have >= ShortLen {
			return m.short(i, j, "there is no room for a short jump either")
		}
		if reason := m.movable(in); reason != "" {
			return m.shortForward(i, j, have, reason)
		}
		if j > i && m.Target(in.Addr) {
			return m.shortForward(i, j, have, "something may jump into the bytes that a jump needs")
		}
		have += in.Len
		if have >= JumpLen && j+1 >= hi {
			return m.sized(i, j+1)
		}
		if Ends(in) || j+1 == len(m.Insts) || m.Insts[j+1].Addr != in.Addr+uint64(in.Len) {
			return m.padded(i, j+1, have)
		}
	}
	return nil, "the function ends too early"
}

// nextCall is the direct call that follows the instruction at i without a branch between them, for a point behind a call that has
// no room of its own: its probe runs when that call is made, some register moves later. nil if there is none, or if something
// may jump in between.
func (m *planner) nextCall(i int) *run {
	for j := i; j < len(m.Insts) && m.Hidden == ""; j++ {
		in := &m.Insts[j]
		if j > i && (m.Target(in.Addr) || in.Addr != m.Insts[j-1].Addr+uint64(m.Insts[j-1].Len)) {
			return nil
		}
		if in.Flow == x86.FlowCall && in.RelLen == 4 && !in.PCSensitive && m.stays(in) == "" {
			return &run{lo: j, hi: j + 1, tactic: Retarget}
		}
		if in.Flow != x86.FlowNext || m.movable(in) != "" {
			return nil
		}
	}
	return nil
}

// backward takes the instruction at i, which does not go on behind, and what it needs of those before it.
func (m *planner) backward(i int) (*run, string) {
	last := &m.Insts[i]
	if reason := m.movable(last); reason != "" {
		return nil, reason
	}
	end := last.Addr + uint64(last.Len)
	room := 0
	if Ends(last) {
		room = int(m.PadEnd(end) - end)
	}
	reason := ""
	lo, have := i, last.Len
	for reason == "" && (have+room < JumpLen || m.splits(lo, JumpLen)) {
		if reason = m.extend(lo); reason == "" {
			lo--
			have += m.Insts[lo].Len
		}
	}
	if reason == "" && have >= JumpLen {
		return m.sized(lo, i+1)
	}
	if reason == "" {
		return m.padded(lo, i+1, have)
	}
	for ; lo < i && m.splits(lo, ShortLen); lo++ {
		have -= m.Insts[lo].Len
	}
	if have+room >= ShortLen {
		return m.short(lo, i+1, reason)
	}
	return nil, reason
}

// before takes instructions that end where i begins; i itself (an indirect call) stays.
func (m *planner) before(i int) (*run, string) {
	if m.Target(m.Insts[i].Addr) {
		return nil, "something may jump to the call itself"
	}
	lo, have := i, 0
	for have < JumpLen || m.splits(lo, JumpLen) {
		if reason := m.extend(lo); reason != "" {
			return nil, reason
		}
		lo--
		have += m.Insts[lo].Len
	}
	return m.sized(lo, i)
}

// extend says whether the run that begins at lo may begin one instruction earlier; "" or why not.
func (m *planner) extend(lo int) string {
	in := &m.Insts[lo]
	if m.Target(in.Addr) {
		return "something may jump into the bytes that a jump needs"
	}
	if lo == 0 || m.Insts[lo-1].Addr+uint64(m.Insts[lo-1].Len) != in.Addr || Ends(&m.Insts[lo-1]) {
		return "there is no room before it"
	}
	return m.movable(&m.Insts[lo-1])
}

func (m *planner) sized(lo, hi int) (*run, string) {
	if m.splits(lo, JumpLen) {
		return m.short(lo, hi, Crossing)
	}
	t := Window
	if hi-lo == 1 {
		t = Single
	} else if m.Hidden != "" {
		return nil, m.Hidden
	}
	return &run{lo: lo, hi: hi, tactic: t}, ""
}

func (m *planner) padded(lo, hi, have int) (*run, string) {
	last := &m.Insts[hi-1]
	end := last.Addr + uint64(last.Len)
	if !Ends(last) || have+int(m.PadEnd(end)-end) < JumpLen {
		return m.short(lo, hi, "the function is too short for a jump")
	}
	if m.splits(lo, JumpLen) {
		return m.short(lo, hi, Crossing)
	}
	if hi-lo > 1 && m.Hidden != "" {
		return nil, m.Hidden
	}
	return &run{lo: lo, hi: hi, tactic: Padding}, ""
}

// shortForward is the way out when a run from i ends before instruction j with too few bytes for a long jump.
func (m *planner) shortForward(i, j, have int, reason string) (*run, string) {
	if have < ShortLen {
		return nil, reason
	}
	return m.short(i, j, reason)
}

// short looks for padding that takes the long jump; reason is why one is needed.
func (m *planner) short(lo, hi int, reason string) (*run, string) {
	if hi-lo > 1 && m.Hidden != "" {
		return nil, m.Hidden
	}
	have := 0
	for i := lo; i < hi; i++ {
		have += m.Insts[i].Len
	}
	last := &m.Insts[hi-1]
	if end := last.Addr + uint64(last.Len); have < ShortLen && Ends(last) {
		have += int(m.PadEnd(end) - end)
	}
	if have < ShortLen {
		return nil, reason
	}
	if m.evicting {
		return m.evicted(lo, hi, reason)
	}
	if m.Pads == nil {
		return nil, reason
	}
	for _, pad := range m.Pads(m.Insts[lo].Addr) {
		if !m.padUsed(pad) && samePage(m.Insts[lo].Addr, pad.Addr) {
			return &run{lo: lo, hi: hi, tactic: Short, pad: pad}, ""
		}
	}
	return nil, reason
}

func (m *planner) evicted(lo, hi int, reason string) (*run, string) {
	h := m.host(lo, hi)
	if h == nil || m.Hidden != "" {
		return nil, reason
	}
	return &run{lo: lo, hi: hi, tactic: Evicted, host: h}, ""
}

func (m *planner) padUsed(p Pad) bool {
	for _, r := range m.runs {
		if r.tactic == Short && r.pad.Addr == p.Addr {
			return true
		}
		if r.tactic == Padding {
			last := &m.Insts[r.hi-1]
			if end := last.Addr + uint64(last.Len); p.Addr < end+JumpLen && end < p.Addr+uint64(p.Len) {
				return true
			}
		}
	}
	return false
}

// movable says why an instruction cannot run at another address; "" if it can.
func (m *planner) movable(in *x86.Inst) string {
	switch why := m.stays(in); {
	case why != "":
		return why
	case in.Flow == x86.FlowCall || in.Flow == x86.FlowCallInd:
		return "a call would have to move, and its return address with it"
	case in.Flow == x86.FlowSyscall:
		return "a system call would have to move"
	case in.Flow == x86.FlowStop:
		return "an instruction that does not go on would have to move"
	case in.PCSensitive:
		return "an instruction that reads its own address would have to move"
	case m.Stay&in.MayFault(m.Bytes(in.Addr, in.Len)) != 0:
		return faulting
	}
	return ""
}

// stays says why the bytes of an instruction must stay what and where they are, so that it can neither move nor lead elsewhere; "" if they
// need not. What leads between its bytes runs them as another instruction: je over a lock prefix.
func (m *planner) stays(in *x86.Inst) string {
	for a := in.Addr + 1; a < in.End(); a++ {
		if m.Target(a) {
			return "something may jump into the middle of an instruction that would have to change"
		}
	}
	if m.Bound == nil {
		return ""
	}
	return m.Bound(in.Addr, in.End())
}

const faulting = "an instruction would have to move that may fault, and the program may look where it did"

// Ends reports whether control never goes on behind an instruction.
func Ends(in *x86.Inst) bool {
	return in.Flow == x86.FlowJump || in.Flow == x86.FlowJumpInd || in.Flow == x86.FlowRet || in.Flow == x86.FlowStop
}

// finish turns the runs into sites in order of address.
func (m *planner) finish() *Plan {
	for _, r := range m.runs {
		if r.tactic != hosting && r.site == nil {
			m.plan.Sites = append(m.plan.Sites, m.site(r))
		}
	}
	sort.Slice(m.plan.Sites, func(i, j int) bool { return m.plan.Sites[i].Addr < m.plan.Sites[j].Addr })
	plan := m.plan // the planner holds the whole function, and plans stay
	return &plan
}

func (m *planner) site(r *run) *Site {
	s := &Site{Tactic: r.tactic, Addr: m.Insts[r.lo].Addr, Insts: slices.Clone(m.Insts[r.lo:r.hi]), Pad: r.pad, Host: m.hostOf(r)}
	for _, in := range s.Insts {
		s.Len += in.Len
	}
	s.Code = m.Bytes(s.Addr, s.Len)
	for p, i := range r.marks {
		at := i - r.lo
		if p.Kind == FuncEntry {
			at = 0 // behind an endbr64 that is not part of the site
		}
		s.Marks = append(s.Marks, m.mark(p, at, r))
	}
	s.sortMarks()
	return s
}
