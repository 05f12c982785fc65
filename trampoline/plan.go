package trampoline

import (
	"fmt"
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

const (
	jumpLen  = 5 // jmp rel32
	shortLen = 2 // jmp rel8
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
		return s.Host.slot(), s.Host.slot() + jumpLen, true
	}
	return 0, 0, false
}

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
		return crossing
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

const crossing = "its jump would cross a page, which cannot be written at once"

// crosses reports whether what is written for a run lies in two pages.
func (m *planner) crosses(r *run) bool {
	lo, hi := m.written(r)
	return inTwoPages(lo, int(hi-lo)) || r.tactic == Short && inTwoPages(r.pad.Addr, jumpLen)
}

// splits reports whether n bytes from the start of instruction i on lie in two pages.
func (m *planner) splits(i, n int) bool { return inTwoPages(m.Insts[i].Addr, n) }

func inTwoPages(addr uint64, n int) bool { return addr/PageSize != (addr+uint64(n)-1)/PageSize }

// written is the range of bytes that change at the site itself.
func (m *planner) written(r *run) (lo, hi uint64) {
	in := &m.Insts[r.lo]
	switch r.tactic {
	case Retarget:
		return in.Addr + uint64(in.RelOff), in.Addr + uint64(in.RelOff) + 4
	case Short, Evicted:
		return in.Addr, in.Addr + shortLen
	}
	return in.Addr, in.Addr + jumpLen
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
	if in.RelLen != 4 || in.PCSensitive || m.stays(in) != "" || inTwoPages(in.Addr+uint64(in.RelOff), in.RelLen) {
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
		if m.evicting && have >= shortLen {
			return m.short(i, j, "there is no room for a short jump either")
		}
		if reason := m.movable(in); reason != "" {
			return m.shortForward(i, j, have, reason)
		}
		if j > i && m.Target(in.Addr) {
			return m.shortForward(i, j, have, "something may jump into the bytes that a jump needs")
		}
		have += in.Len
		if have >= jumpLen && j+1 >= hi {
			return m.sized(i, j+1)
		}
		if ends(in) || j+1 == len(m.Insts) || m.Insts[j+1].Addr != in.Addr+uint64(in.Len) {
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
	if ends(last) {
		room = int(m.PadEnd(end) - end)
	}
	reason := ""
	lo, have := i, last.Len
	for reason == "" && (have+room < jumpLen || m.splits(lo, jumpLen)) {
		if reason = m.extend(lo); reason == "" {
			lo--
			have += m.Insts[lo].Len
		}
	}
	if reason == "" && have >= jumpLen {
		return m.sized(lo, i+1)
	}
	if reason == "" {
		return m.padded(lo, i+1, have)
	}
	for ; lo < i && m.splits(lo, shortLen); lo++ {
		have -= m.Insts[lo].Len
	}
	if have+room >= shortLen {
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
	for have < jumpLen || m.splits(lo, jumpLen) {
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
	if lo == 0 || m.Insts[lo-1].Addr+uint64(m.Insts[lo-1].Len) != in.Addr || ends(&m.Insts[lo-1]) {
		return "there is no room before it"
	}
	return m.movable(&m.Insts[lo-1])
}

func (m *planner) sized(lo, hi int) (*run, string) {
	if m.splits(lo, jumpLen) {
		return m.short(lo, hi, crossing)
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
	if !ends(last) || have+int(m.PadEnd(end)-end) < jumpLen {
		return m.short(lo, hi, "the function is too short for a jump")
	}
	if m.splits(lo, jumpLen) {
		return m.short(lo, hi, crossing)
	}
	if hi-lo > 1 && m.Hidden != "" {
		return nil, m.Hidden
	}
	return &run{lo: lo, hi: hi, tactic: Padding}, ""
}

// shortForward is the way out when a run from i ends before instruction j with too few bytes for a long jump.
func (m *planner) shortForward(i, j, have int, reason string) (*run, string) {
	if have < shortLen {
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
	if end := last.Addr + uint64(last.Len); have < shortLen && ends(last) {
		have += int(m.PadEnd(end) - end)
	}
	if have < shortLen {
		return nil, reason
	}
	if m.evicting {
		return m.evicted(lo, hi, reason)
	}
	if m.Pads == nil {
		return nil, reason
	}
	for _, pad := range m.Pads(m.Insts[lo].Addr) {
		if !m.padUsed(pad) {
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
			if end := last.Addr + uint64(last.Len); p.Addr < end+jumpLen && end < p.Addr+uint64(p.Len) {
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

func ends(in *x86.Inst) bool {
	return in.Flow == x86.FlowJump || in.Flow == x86.FlowJumpInd || in.Flow == x86.FlowRet || in.Flow == x86.FlowStop
}

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
	if r.tactic == Padding && hi < lo+jumpLen {
		hi = lo + jumpLen
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
	case m.splits(lo, jumpLen):
		return crossing
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
	if l, h := m.Insts[lo].Addr, m.Insts[hi-1]; h.Addr+uint64(h.Len)-l < jumpLen {
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

// Way is the direct way into a base trampoline at addr.
func (b *Base) Way(addr uint64) Way { return Way{addr + uint64(b.Entry), addr + uint64(b.Host)} }

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
		long, err := jump(s.Pad.Addr, tramp)
		if err != nil {
			return nil, err
		}
		return s.shortTo(Piece{s.Pad.Addr, long})
	case Evicted:
		away, err := jump(s.Host.Addr, w.Host)
		if err != nil {
			return nil, err
		}
		long, err := jump(s.Host.slot(), tramp)
		if err != nil {
			return nil, err
		}
		return s.shortTo(Piece{s.Host.Addr, append(away, long...)})
	case Punned:
		return s.punned(w)
	}
	j, err := jump(s.Addr, tramp)
	if err != nil {
		return nil, err
	}
	return []Piece{{s.Addr, j}}, nil
}

// shortTo adds the short jump to the piece that it leads into.
func (s *Site) shortTo(p Piece) ([]Piece, error) {
	to, _, _ := s.Landing()
	d := int64(to) - int64(s.Addr+shortLen)
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

func jump(from, to uint64) ([]byte, error) {
	rel, err := rel32(from+jumpLen, to)
	return append([]byte{0xE9}, rel[:]...), err
}

func rel32(next, to uint64) (b [4]byte, err error) {
	d := int64(to - next)
	if d != int64(int32(d)) {
		return b, fmt.Errorf("the trampoline at %#x is more than 2 GiB from %#x", to, next)
	}
	return [4]byte{byte(d), byte(d >> 8), byte(d >> 16), byte(d >> 24)}, nil
}
