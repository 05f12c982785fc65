package trampoline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// TestFeatures runs functions made by chance before and after they are patched, by every tactic, with every feature of base
// trampolines, and compares registers, flags, memory and what was counted with a twin that runs the function in Go. Each feature
// has to come up, in code that is really executed, in every hundredth case at least, each tactic in every thirtieth.
func TestFeatures(t *testing.T) {
	r := startRunner(t)
	n := 6000
	if *long {
		n = 300_000
	}
	f := &features{t: t, r: r, tactics: map[planner.Tactic]int{}, kinds: map[planner.PointKind]int{}, did: map[string]int{}}
	for seed := range n {
		f.rng = rand.New(rand.NewPCG(uint64(seed), 23))
		if err := f.oneCase(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	f.report(n)
}

// Features keeps the books: how often something was executed.
type features struct {
	t       *testing.T
	r       *runner
	rng     *rand.Rand
	tactics map[planner.Tactic]int
	kinds   map[planner.PointKind]int
	did     map[string]int
}

// wanted are the features that must come up, besides tactics and kinds of points.
var wanted = []string{"several points at one site", "value put into a bucket", "several groups at one point", "generated switched off", "generated off, switched on",
	"one owner of several off", "whole trampoline off", "gate closed", "all but the fixed part gone", "block found at once", "block found in another slot", "block claimed",
	"expression of full depth", "mini longer than a short jump", "conditional tail jump taken", "conditional tail jump not taken",
	"conditional tail jump moved and taken", "flags compared", "memory read", "memory that is not there", "text that matches", "text that differs", "path that matches", "path that differs",
	"both sides asked for", "one side decides", "row read at the start", "row read at the end", "no row", "row grown meanwhile", "last wait made up for", "last wait not known"}

func (f *features) report(n int) {
	f.t.Logf("%d functions, each run 6 times; executed points by tactic of their site %v", n, f.tactics)
	for _, tactic := range []planner.Tactic{planner.Retarget, planner.Single, planner.Padding, planner.Window, planner.Short, planner.Evicted, planner.Punned} {
		if f.tactics[tactic] < n/30 {
			f.t.Errorf("only %d executed points by %q", f.tactics[tactic], tactic)
		}
	}
	for k := planner.FuncEntry; k <= planner.CallPost; k++ {
		f.t.Logf("%s: %d", k, f.kinds[k])
		if f.kinds[k] < n/100 {
			f.t.Errorf("only %d executed points of kind %q", f.kinds[k], k)
		}
	}
	for _, w := range wanted {
		f.t.Logf("%s: %d", w, f.did[w])
		if f.did[w] < n/100 {
			f.t.Errorf("%q came up %d times only", w, f.did[w])
		}
	}
}

// A scene is one function with its trampolines, and the state to run it from.
type scene struct {
	f         *features
	p         *program
	plan      *planner.Plan
	groups    map[planner.Point][]Group
	on        map[uint64]bool // by owner
	text      []byte
	stubs     []planner.Piece
	bases     []placed
	patched   map[*planner.Site]bool
	regs      registers
	data      []byte
	slot      int // of the thread's block
	row       int // that the block says it has, counted from 1; 0 = none
	unclaimed bool
}

// A placed base trampoline.
type placed struct {
	*Base
	addr uint64
}

func (f *features) oneCase() error {
	s := &scene{f: f, p: makeProgram(f.rng), patched: map[*planner.Site]bool{}}
	s.plan = planner.MakePlan(s.p.body(), s.p.points)
	s.chooseGroups()
	s.chooseState()
	plain, _ := f.r.run(f.t, wrapAt, s.regs, s.p.text(f.t), s.data)
	if err := s.twinAgrees(plain); err != nil {
		return err
	}
	if err := s.patch(); err != nil {
		return fmt.Errorf("%w\ncode % x\nsites %s", err, s.p.code, s.sites())
	}
	for _, mode := range []func(registers) error{s.asGenerated, s.gateClosed, s.switchedOff, s.someOff} {
		if err := mode(plain); err != nil {
			return fmt.Errorf("%w\ncode % x\nsites %s\ngroups %+v", err, s.p.code, s.sites(), s.groups)
		}
	}
	return nil
}

func (s *scene) sites() (text string) {
	for _, site := range s.plan.Sites {
		text += fmt.Sprintf("%s %#x+%d ", site.Tactic, site.Addr, site.Len)
	}
	return text
}

// chooseGroups gives the points that have a site up to three groups, some of them switched off from the beginning.
func (s *scene) chooseGroups() {
	s.groups, s.on = map[planner.Point][]Group{}, map[uint64]bool{}
	rng := s.f.rng
	for _, pt := range s.p.points {
		if site, _ := s.plan.SiteOf(pt); site == nil {
			continue
		}
		for range rng.IntN(4) {
			g := Group{Owner: uint64(len(s.on) + 1), Off: rng.IntN(6) == 0}
			for range 1 + rng.IntN(2) {
				g.Minis = append(g.Minis, s.mini(pt.Kind))
			}
			s.on[g.Owner] = !g.Off
			s.groups[pt] = append(s.groups[pt], g)
		}
	}
}

// mini is a primitive, now and then with an expression as deep as may be or one that reads memory.
func (s *scene) mini(k planner.PointKind) Mini {
	m := randomMini(s.f.rng, k)
	switch s.f.rng.IntN(8) {
	case 0:
		m.Op, m.Cell, m.Expr = Op(s.f.rng.IntN(2)), wordCell(s.f.rng.IntN(8)), deep(s.f.rng, k, MaxExprDepth)
	case 1:
		m.Op, m.Cell, m.Expr = Op(s.f.rng.IntN(2)), wordCell(s.f.rng.IntN(8)), memoryExpr(s.f.rng, k, 3)
	case 2:
		m.Op, m.Cell, m.Expr = Op(s.f.rng.IntN(2)), wordCell(s.f.rng.IntN(8)), logicExpr(s.f.rng, k)
	}
	return m
}

// deep is an expression of exactly the depth, with a leaf beside every operator.
func deep(rng *rand.Rand, k planner.PointKind, depth int) *Expr {
	if depth == 1 {
		return randomExpr(rng, k, 1)
	}
	op := ExAdd + ExprOp(rng.IntN(int(ExNeg-ExAdd)))
	l, r := randomExpr(rng, k, 1), deep(rng, k, depth-1)
	if rng.IntN(2) == 0 {
		l, r = r, l
	}
	return &Expr{Op: op, L: l, R: r}
}

// chooseState makes registers and the thread blocks: this thread's own one is at its first slot, behind those of others, or
// not claimed yet, and its words hold what an earlier or an outer activation may have left.
func (s *scene) chooseState() {
	rng := s.f.rng
	for i := range s.regs {
		s.regs[i] = randomRegister(rng)
	}
	s.data = make([]byte, dataSize)
	home, others := nativeGeometry.Slot(s.f.r.self), max(0, rng.IntN(4)-1)
	for i := range others {
		binary.LittleEndian.PutUint64(block(s.data, (home+i)%nativeGeometry.Slots), 0x1000+uint64(i))
	}
	s.slot, s.unclaimed = (home+others)%nativeGeometry.Slots, rng.IntN(4) == 0
	own := block(s.data, s.slot)
	if !s.unclaimed {
		binary.LittleEndian.PutUint64(own, s.f.r.self)
		if rng.IntN(4) > 0 { // its own words are its row, so that the row changes while timers run
			s.row = 1 + rng.IntN(nativeGeometry.Slots)
			binary.LittleEndian.PutUint64(own[BlockRow:], RowWord(s.row-1)|rng.Uint64()<<bits.Len32(uint32(nativeGeometry.rowMask()))) // what lies outside of the table means nothing
			if rng.IntN(3) == 0 {                                                                                                      // and nobody has told it that the thread is back
				binary.LittleEndian.PutUint64(own[rowInBlock+RowSince:], 1000+rng.Uint64N(1000))
				binary.LittleEndian.PutUint64(own[rowInBlock+RowWoken:], []uint64{0, 2000 + rng.Uint64N(1000)}[rng.IntN(2)])
			}
		}
	}
	left := []uint64{0, 0, programSP - 64, programSP, programSP + 64}
	for i := range 8 {
		binary.LittleEndian.PutUint64(own[wordCell(i):], left[rng.IntN(len(left))])
	}
	for i := range 4 {
		if v := left[rng.IntN(len(left))]; v != 0 {
			binary.LittleEndian.PutUint64(own[timerCell(i):], v)
			binary.LittleEndian.PutUint64(own[timerCell(i)+TimerStart:], 1)
		}
	}
	for _, c := range rowTimerCells {
		if binary.LittleEndian.Uint64(own[BlockRow:]) != 0 { // else none of them ever began
			binary.LittleEndian.PutUint64(own[c:], left[rng.IntN(len(left))])
		}
	}
	switch {
	case s.unclaimed:
		s.f.did["block claimed"]++
	case others > 0:
		s.f.did["block found in another slot"]++
	default:
		s.f.did["block found at once"]++
	}
}

const flagBits = 0x8D5 // OF SF ZF AF PF CF

// twinAgrees holds the plain run against the twin: the twin is right before it judges trampolines.
func (s *scene) twinAgrees(plain registers) error {
	want := s.p.execute(s.regs, func(planner.Point, *machine) {}).r
	want[x86.RSP], want[x86.R14] = plain[x86.RSP], plain[x86.R14]
	if want != plain {
		return fmt.Errorf("the twin computes %x, the processor %x\ncode % x", want, plain, s.p.code)
	}
	return nil
}

// patch writes the trampolines, the stubs and the bytes of each site.
func (s *scene) patch() error {
	s.text = s.p.text(s.f.t)
	if s.row > 0 {
		binary.LittleEndian.PutUint64(s.text[slowAt-textAt+SlowRowsOff:], blockAt(s.slot)+rowInBlock-uint64(s.row-1)*RowSize)
	}
	for _, site := range s.plan.Sites {
		list, some := make([][]Group, len(site.Marks)), false
		for i, m := range site.Marks {
			list[i] = s.groups[m.Point]
			some = some || len(list[i]) > 0
		}
		if !some {
			continue
		}
		if err := s.place(site, list); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) place(site *planner.Site, list [][]Group) error {
	at := textAt + uint64(len(s.text)+63)&^63
	b, err := Generate(s.f.r.env(s.f.rng), site, list, at)
	if err != nil {
		return err
	}
	s.text = append(s.text, make([]byte, at-textAt-uint64(len(s.text)))...)
	s.text = append(s.text, b.Code...)
	way := b.Way(at)
	if site.Tactic == planner.Punned {
		if way, err = s.stub(site, way); err != nil {
			return err
		}
	}
	pieces, err := site.Patch(way)
	if err != nil {
		return err
	}
	for _, piece := range pieces {
		copy(s.text[piece.Addr-textAt:], piece.Bytes)
	}
	s.bases = append(s.bases, placed{b, at})
	s.patched[site] = true
	return nil
}

// stub finds places for the two stubs of a punned site, makes them lead where w leads, and returns the way to them. What the
// bytes dictate is worked out from the bytes themselves: the jump begins at the site, or behind a prefix, and ends in the
// opcode and the displacement of the branch behind the site.
func (s *scene) stub(site *planner.Site, w planner.Way) (planner.Way, error) {
	opcode := byte(0xE9)
	if call := site.Host.Call(); call != 0 {
		opcode, w.Host = 0xE8, call
	}
	for try := range 10_000 {
		from := site.Addr + uint64(try%2)
		dictated := int(site.End()-from) - 1 // byte of the jump's displacement that is the opcode behind
		if dictated < 0 || dictated > 2 {
			continue
		}
		rel := s.aimed(from + planner.JumpLen)
		rel[dictated] = opcode
		second := s.aimed(site.End() + planner.JumpLen)
		copy(second[:], rel[dictated+1:])
		to := planner.Way{Site: reached(from+planner.JumpLen, rel), Host: reached(site.End()+planner.JumpLen, second)}
		if !s.freeFor(to.Site) || !s.freeFor(to.Host) || to.Site+8 > to.Host && to.Host+8 > to.Site {
			continue
		}
		if _, err := site.Patch(to); err == nil {
			s.stubs = append(s.stubs, planner.Piece{Addr: to.Site, Bytes: jumpTo(to.Site, w.Site)}, planner.Piece{Addr: to.Host, Bytes: jumpTo(to.Host, w.Host)})
			return to, nil
		}
	}
	return planner.Way{}, fmt.Errorf("no place for the stubs of %+v", site)
}

// stubsEnd is where the runner's memory ends.
const stubsEnd = textAt + 64<<20

// aimed is a displacement from next to anywhere where stubs may be.
func (s *scene) aimed(next uint64) (rel [4]byte) {
	binary.LittleEndian.PutUint32(rel[:], uint32(stubsAt+s.f.rng.Uint64N(stubsEnd-stubsAt)-next))
	return rel
}

func reached(next uint64, rel [4]byte) uint64 {
	return next + uint64(int64(int32(binary.LittleEndian.Uint32(rel[:]))))
}

func (s *scene) freeFor(at uint64) bool {
	if at < stubsAt || at > stubsEnd-8 {
		return false
	}
	return !slices.ContainsFunc(s.stubs, func(o planner.Piece) bool { return at < o.Addr+8 && o.Addr < at+8 })
}

func jumpTo(from, to uint64) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0xE9}, uint32(to-from-planner.JumpLen))
}

// asGenerated runs with everything as it was generated.
func (s *scene) asGenerated(plain registers) error {
	s.tally()
	return s.counts(plain, "as generated")
}

// TestFixedPart: the first bytes of a site's trampoline are the same whatever it does, its switch apart.
func TestFixedPart(t *testing.T) {
	f := &features{t: t, r: &runner{}, did: map[string]int{}}
	compared, whole := 0, 0
	for seed := range uint64(2000) {
		f.rng = rand.New(rand.NewPCG(seed, 29))
		s := &scene{f: f, p: makeProgram(f.rng)}
		s.plan = planner.MakePlan(s.p.body(), s.p.points)
		for _, site := range s.plan.Sites {
			a, b := s.version(site), s.version(site)
			if whole++; a.Fixed != b.Fixed || a.Entry != b.Entry || a.Host != b.Host || a.Switch != b.Switch {
				t.Fatalf("seed %d: %s site: fixed %d and %d, entries %d and %d", seed, site.Tactic, a.Fixed, b.Fixed, a.Entry, b.Entry)
			}
			if a.Fixed > 0 {
				compared++
			}
			if !bytes.Equal(a.Code[:a.Fixed], b.Code[:b.Fixed]) {
				t.Fatalf("seed %d: %s site: % x, another version % x", seed, site.Tactic, a.Code[:a.Fixed], b.Code[:b.Fixed])
			}
		}
	}
	t.Logf("%d sites, %d of them with a fixed part", whole, compared)
	if compared < whole*9/10 {
		t.Errorf("only %d of %d sites have a fixed part", compared, whole)
	}
}

// version generates a trampoline of a site with primitives made by chance.
func (s *scene) version(site *planner.Site) *Base {
	s.f.t.Helper()
	s.chooseGroups()
	list := make([][]Group, len(site.Marks))
	for i, m := range site.Marks {
		list[i] = s.groups[m.Point]
	}
	b, err := Generate(nativeEnv(), site, list, roomAt)
	if err != nil {
		s.f.t.Fatal(err)
	}
	return b
}

// someOff switches owners on and off by chance, by their two bytes.
func (s *scene) someOff(plain registers) error {
	was := maps.Clone(s.on)
	for _, owner := range slices.Sorted(maps.Keys(s.on)) {
		s.on[owner] = s.f.rng.IntN(2) == 0
	}
	for _, b := range s.bases {
		for owner, toggles := range b.Toggles {
			for _, k := range toggles {
				bytes := On
				if !s.on[owner] {
					bytes = b.Off(k)
				}
				copy(s.text[b.addr-textAt+uint64(k):], bytes[:])
			}
		}
	}
	s.tallyOwners(was)
	return s.counts(plain, "some owners switched off")
}

// counts runs the patched function and compares with the twin.
func (s *scene) counts(plain registers, when string) error {
	after, got := s.f.r.run(s.f.t, wrapAt, s.regs, s.text, s.data, s.stubs...)
	m := newModel(block(s.data, s.slot), s.regs)
	m.at = blockAt(s.slot)
	m.did = s.f.did
	touched, flags := false, uint64(flagBits)
	s.p.execute(s.regs, func(pt planner.Point, c *machine) {
		site, _ := s.plan.SiteOf(pt)
		if site == nil || !s.patched[site] {
			return
		}
		flags = 0 // from here on those count that an instruction sets
		if len(s.groups[pt]) == 0 {
			return
		}
		touched = true
		if m.sp, m.ret = c.sp, c.r[x86.RAX]; pt.Kind == planner.CallPre && site.Tactic == planner.Retarget {
			m.sp -= 8 // the call has happened
		}
		m.point(s.active(pt))
	})
	end := s.p.execute(s.regs, func(pt planner.Point, c *machine) {
		if site, _ := s.plan.SiteOf(pt); site != nil && s.patched[site] {
			c.flags = 0
		}
	})
	if err := s.sameRegisters(after, plain, end.flags|flags); err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	if err := errors.Join(m.compare(block(got, s.slot)), m.compareShared(got)); err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	return s.othersKept(got, touched, when)
}

// active are the groups of a point that are switched on.
func (s *scene) active(pt planner.Point) (list []Group) {
	for _, g := range s.groups[pt] {
		if s.on[g.Owner] {
			list = append(list, g)
		}
	}
	return list
}

// sameRegisters compares registers, and the flags where instructions of the function have set them behind the last point.
func (s *scene) sameRegisters(after, plain registers, flags uint64) error {
	if flags != 0 {
		s.f.did["flags compared"]++
	}
	after[x86.R14] &= flags
	plain[x86.R14] &= flags
	if after != plain {
		return fmt.Errorf("registers %x, without trampolines %x", after, plain)
	}
	return nil
}

// othersKept compares all memory but the thread's own block.
func (s *scene) othersKept(got []byte, touched bool, when string) error {
	want := bytes.Clone(s.data)
	copy(block(want, s.slot), block(got, s.slot))
	if touched && s.unclaimed {
		want[s.slot] = 1 // the byte that says that it was claimed
	}
	if touched {
		copy(want[sharedAt-dataAt:][:WordSize], got[sharedAt-dataAt:]) // which was held against the model
	}
	owner := binary.LittleEndian.Uint64(block(got, s.slot))
	if !bytes.Equal(got, want) || owner != s.f.r.self && (touched || !s.unclaimed) {
		return fmt.Errorf("%s: memory beside the thread's block has changed, or it is not claimed", when)
	}
	return nil
}

// gateClosed runs as a forked child does: nothing may be counted, and where a trampoline promises that children run in its
// first bytes only, the others may be anything.
func (s *scene) gateClosed(plain registers) error {
	kept := bytes.Clone(s.text)
	defer func() { copy(s.text, kept) }()
	copy(s.text[gateAt-textAt:], gateWord(false))
	s.f.did["gate closed"]++
	if err := s.nothing(plain, 0, "gate closed"); err != nil {
		return err
	}
	for _, b := range s.bases {
		if b.Fixed > 0 {
			code := s.text[b.addr-textAt:][:len(b.Code)]
			copy(code[b.Fixed:], bytes.Repeat([]byte{0xCC}, len(code)))
			s.f.did["all but the fixed part gone"]++
		}
	}
	return s.nothing(plain, 0, "all but the fixed part gone")
}

// switchedOff runs with every whole trampoline off: nothing is counted, and not even flags change.
func (s *scene) switchedOff(plain registers) error {
	for _, b := range s.bases {
		off := b.Off(b.Switch)
		copy(s.text[b.addr-textAt+uint64(b.Switch):], off[:])
	}
	defer func() {
		for _, b := range s.bases {
			on := b.On(b.Switch)
			copy(s.text[b.addr-textAt+uint64(b.Switch):], on[:])
		}
	}()
	s.f.did["whole trampoline off"]++
	return s.nothing(plain, flagBits, "switched off")
}

func (s *scene) nothing(plain registers, flags uint64, when string) error {
	after, got := s.f.r.run(s.f.t, wrapAt, s.regs, s.text, s.data, s.stubs...)
	if err := s.sameRegisters(after, plain, flags); err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	if !bytes.Equal(got, s.data) {
		return fmt.Errorf("%s: memory has changed", when)
	}
	return nil
}

// tally counts what the run as generated executes.
func (s *scene) tally() {
	f := s.f
	s.p.execute(s.regs, func(pt planner.Point, c *machine) {
		site, _ := s.plan.SiteOf(pt)
		groups := s.groups[pt]
		if site == nil || len(groups) == 0 {
			return
		}
		f.tactics[site.Tactic]++
		f.kinds[pt.Kind]++
		if len(groups) > 1 {
			f.did["several groups at one point"]++
		}
		if pt.Kind == planner.TailCond {
			f.did["conditional tail jump taken"]++
			if site.Tactic != planner.Retarget {
				f.did["conditional tail jump moved and taken"]++
			}
		}
		s.tallyGroups(groups)
	})
	s.tallySites()
}

func (s *scene) tallyGroups(groups []Group) {
	for _, g := range groups {
		if g.Off {
			s.f.did["generated switched off"]++
		}
		for _, m := range g.Minis {
			if m.distributes() {
				s.f.did["value put into a bucket"]++
			}
			if m.Expr.Depth() == MaxExprDepth {
				s.f.did["expression of full depth"]++
			}
		}
	}
}

func (s *scene) tallySites() {
	passed := map[planner.Point]bool{}
	s.p.execute(s.regs, func(pt planner.Point, c *machine) { passed[pt] = true })
	for site := range s.patched {
		served := 0
		for _, m := range site.Marks {
			if n := len(s.groups[m.Point]); n > 0 && passed[m.Point] {
				served++
			} else if m.Point.Kind == planner.TailCond && n > 0 {
				s.f.did["conditional tail jump not taken"]++
			}
		}
		if served > 1 {
			s.f.did["several points at one site"]++
		}
	}
	for _, b := range s.bases {
		for _, skip := range b.Toggles {
			if slices.ContainsFunc(skip, func(k int) bool { return bytes.Equal(b.Code[k+2:k+4], []byte{0xEB, planner.JumpLen}) }) {
				s.f.did["mini longer than a short jump"]++
			}
		}
	}
}

// tallyOwners counts what switching owners by chance has changed.
func (s *scene) tallyOwners(was map[uint64]bool) {
	s.p.execute(s.regs, func(pt planner.Point, c *machine) {
		on, off := 0, 0
		for _, g := range s.groups[pt] {
			if s.on[g.Owner] {
				on++
			} else {
				off++
			}
			if s.on[g.Owner] && !was[g.Owner] {
				s.f.did["generated off, switched on"]++
			}
		}
		if on > 0 && off > 0 {
			s.f.did["one owner of several off"]++
		}
	})
}
