package x86

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRelocateRun executes instructions and their relocated copies from the same random state and compares everything:
// general registers, flags, x87, SSE, AVX and AVX-512 registers, memory, segment registers, the fault if one comes, and where
// control goes. The instructions are those of libraries, and random ones of every map.
func TestRelocateRun(t *testing.T) {
	n, libs := 30_000, []string{"libc.so.6"}
	if *long {
		n, libs = 2_000_000, []string{"libc.so.6", "libm.so.6", "libstdc++.so.6", "libcrypto.so.3", "redis-server", "git"}
	}
	c := newComparison(t, libs)
	start := time.Now()
	for c.cases < n && c.bad <= 10 {
		c.batch(min(twinSlots, n-c.cases))
	}
	c.report(time.Since(start))
	c.enough(n)
}

// varies says whether two executions differ of themselves (clocks, random numbers, the processor's number, its tables) or
// wait for something.
func varies(in Inst) bool {
	switch in.Opcode {
	case 0x131, 0x132, 0x133, 0x1A2: // rdtsc, rdmsr, rdpmc, cpuid
		return true
	case 0x101: // rdtscp, xgetbv and relatives; sgdt, sidt, smsw
		return true
	case 0x1C7: // rdrand, rdseed, rdpid
		return in.ModRM >= 0xF0
	case 0x1AE: // umonitor, umwait, tpause
		return in.ModRM >= 0xF0 && in.ModRM < 0xF8 && in.Prefix&(PrefixOpSize|PrefixRep|PrefixRepne) != 0
	case 0x103, 0x102, 0x100: // lsl, lar, sldt.. see the processor's tables
		return true
	}
	return false
}

// A source gives instructions: first by map, then by opcode, so that frequent ones leave room for rare ones.
type source struct {
	maps []byte
	ops  map[byte][]uint16
	all  map[uint16][]shape
}

func newSource(w *twins, list []shape) *source {
	s := &source{ops: map[byte][]uint16{}, all: map[uint16][]shape{}}
	for _, sh := range list {
		if !varies(sh.in) && w.has(byte(sh.in.Opcode>>8)) {
			s.all[sh.in.Opcode] = append(s.all[sh.in.Opcode], sh)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(s.all)) {
		s.ops[byte(op>>8)] = append(s.ops[byte(op>>8)], op)
	}
	s.maps = slices.Sorted(maps.Keys(s.ops))
	return s
}

func (s *source) pick(rnd *rand.Rand) shape {
	ops := s.ops[s.maps[rnd.Intn(len(s.maps))]]
	list := s.all[ops[rnd.Intn(len(ops))]]
	return list[rnd.Intn(len(list))]
}

// A pair is an instruction and its copy in a slot.
type pair struct {
	code, moved []byte
	in          Inst
}

// A comparison keeps what the cases share, and its books.
type comparison struct {
	t       *testing.T
	w       *twins
	s       *stater
	rnd     *rand.Rand
	sources [3]*source
	known   []int // maps
	pairs   [twinSlots]pair

	cases, bad, restless   int
	went, rip, refused     int
	taken, notTaken, loops int
	faults                 map[syscall.Signal]int
	maps                   map[byte]int // cases that went on, by opcode map
	opcodes                map[uint16]bool
	shapes                 map[[2]uint64]bool
	shapesIn               int
}

func newComparison(t *testing.T, libs []string) *comparison {
	c := &comparison{t: t, w: newTwins(t), faults: map[syscall.Signal]int{}, maps: map[byte]int{}, opcodes: map[uint16]bool{}, shapes: map[[2]uint64]bool{}}
	c.s = newStater(c.w, 20)
	c.rnd, c.known = c.s.rnd, slices.DeleteFunc(knownMaps(), func(m int) bool { return !c.w.has(byte(m)) })
	classes := shapesOf(t, libs...)
	for _, h := range extraShapes {
		code := unhex(t, strings.ReplaceAll(h, " ", ""))
		in, err := Decode(code, 0)
		if err != nil {
			t.Fatal(err)
		}
		classes[classOf(in)] = append(classes[classOf(in)], shape{code, in})
	}
	for i, list := range classes {
		c.sources[i] = newSource(c.w, list)
		c.shapesIn += len(list)
	}
	return c
}

// batch runs n cases at once.
func (c *comparison) batch(n int) {
	for i := range n {
		c.fill(i)
	}
	c.w.run(n)
	for i := range n {
		c.judge(i)
	}
}

// fill makes the case of a slot.
func (c *comparison) fill(i int) {
	p, slot := &c.pairs[i], c.w.slot(i)
	next := c.choose()
	for !c.pair(p, next()) {
		c.refused++
	}
	c.s.put(slot, p.code, p.in)
	slot.setCode(0, p.code)
	slot.setCode(1, p.moved)
}

// choose chooses where instructions come from: half of them are those of libraries, the others random ones of a map, one in
// two with a RIP-relative operand.
func (c *comparison) choose() (next func() []byte) {
	class := c.rnd.Intn(2 * len(c.sources))
	if class < len(c.sources) {
		return func() []byte { return bytes.Clone(c.sources[class].pick(c.rnd).code) }
	}
	m, rip := c.known[c.rnd.Intn(len(c.known))], c.rnd.Intn(2) == 0
	return func() []byte { return randomForm(c.rnd, m, rip) }
}

// pair makes a pair; false if the instruction cannot be moved.
func (c *comparison) pair(p *pair, code []byte) bool {
	in, err := Decode(code, twinOrig)
	if err != nil || varies(in) {
		return false
	}
	c.aim(code, in)
	if p.in, err = Decode(code, twinOrig); err != nil {
		return false
	}
	p.code = code[:p.in.Len]
	p.moved, err = Relocate(nil, p.code, p.in, twinCopy)
	return err == nil
}

// randomForm is a random instruction of a map, perhaps with a RIP-relative operand.
func randomForm(rnd *rand.Rand, m int, rip bool) []byte {
	code := randomOf(rnd, m)
	switch code[0] {
	case 0xC4: // other registers and sources
		code[1] ^= byte(rnd.Intn(8)) << 5
		code[2] ^= byte(rnd.Intn(16)) << 3
	case 0x62:
		code[1] ^= byte(rnd.Intn(16)) << 4
		code[2] ^= byte(rnd.Intn(16)) << 3
		code[3] ^= byte(rnd.Intn(8)) | byte(rnd.Intn(2))<<7
	}
	if in, err := Decode(code, 0); rip && err == nil && in.HasModRM && in.ModRM < 0xC0 {
		code[in.OpOff+1] = in.ModRM&0x38 | 5
	}
	return code
}

// aim makes a RIP-relative operand name the data, and a branch lead into the page of the original or somewhere where nothing
// is, but not into itself: where it leads would differ.
func (c *comparison) aim(code []byte, in Inst) {
	if in.RIPOff != 0 {
		target := uint64(dataMid) - 1024 + uint64(c.rnd.Intn(32))*64 + uint64(c.rnd.Intn(2)*c.rnd.Intn(16))
		binary.LittleEndian.PutUint32(code[in.RIPOff:], uint32(target-in.End()))
	}
	switch in.RelLen {
	case 1:
		code[in.RelOff] = byte(c.away(in, 256))
	case 4:
		binary.LittleEndian.PutUint32(code[in.RelOff:], uint32(c.away(in, []int{1024, 1 << 28}[c.rnd.Intn(2)])))
	}
}

// away is a displacement of less than reach/2 that leads neither into the instruction nor behind it.
func (c *comparison) away(in Inst, reach int) int {
	for {
		if d := c.rnd.Intn(reach) - reach/2; d > 0 || d < -in.Len {
			return d
		}
	}
}

// judge compares the two results of a slot. What does not do the same twice at the same place proves nothing: random numbers, or
// a flag that the kernel cleared when it delivered a signal in between.
func (c *comparison) judge(i int) {
	p, slot := &c.pairs[i], c.w.slot(i)
	c.count(p, slot.result(0))
	why := c.differ(p, slot)
	if why == "" {
		return
	}
	if !c.again(i) {
		c.restless++
		return
	}
	c.bad++
	c.t.Errorf("% x, moved % x: %s", p.code, p.moved, why)
}

// again runs a slot some more times, in place of the first slot, and says whether original and copy always do what they did.
func (c *comparison) again(i int) bool {
	var first [2]result
	for k := range first {
		first[k] = bytes.Clone(c.w.slot(i).result(k))
		clearVolatile(first[k].xstate(c.w.size))
	}
	kept := bytes.Clone(c.w.slot(0))
	defer copy(c.w.slot(0), kept)
	copy(c.w.slot(0), c.w.slot(i))
	for range 20 {
		c.w.run(1)
		for k := range first {
			r := c.w.slot(0).result(k)
			clearVolatile(r.xstate(c.w.size))
			if !bytes.Equal(r, first[k]) {
				return false
			}
		}
	}
	return true
}

// count keeps the books on what the cases did.
func (c *comparison) count(p *pair, r result) {
	c.cases++
	c.opcodes[p.in.Opcode] = true
	c.shapes[[2]uint64{uint64(p.in.Opcode)<<16 | uint64(p.in.Prefix), uint64(p.in.ModRM)<<8 | uint64(p.in.Len)}] = true
	if r.signal() != syscall.SIGTRAP && r.place() == twinOrig {
		c.faults[r.signal()]++
		return
	}
	c.went++
	c.maps[byte(p.in.Opcode>>8)]++
	switch taken := r.place() != p.in.End(); {
	case p.in.Flow == FlowLoop:
		c.loops++
	case p.in.Flow != FlowNext && taken:
		c.taken++
	case p.in.Flow != FlowNext:
		c.notTaken++
	case p.in.RIPOff != 0:
		c.rip++
	}
}

// differ says in what the two results differ, "" if in nothing.
func (c *comparison) differ(p *pair, s slot) string {
	a, b := s.result(0), s.result(1)
	if why := differInControl(p, a, b); why != "" {
		return why
	}
	for i := range resultWords {
		if i == wordRIP || i == wordAddress && a.signal() != syscall.SIGSEGV && a.signal() != syscall.SIGBUS {
			continue // the address of the instruction itself, or none
		}
		if a.word(i) != b.word(i) {
			return fmt.Sprintf("register %d is %#x, moved %#x", i, a.word(i), b.word(i))
		}
	}
	xa, xb := a.xstate(c.w.size), b.xstate(c.w.size)
	clearVolatile(xa)
	clearVolatile(xb)
	if i := firstDifference(xa, xb); i >= 0 {
		return fmt.Sprintf("extended state differs from byte %d on: % x, moved % x", i, xa[i:][:4], xb[i:][:4])
	}
	if i := firstDifference(a.data(), b.data()); i >= 0 {
		return fmt.Sprintf("memory differs from byte %d on: % x, moved % x", i, a.data()[i:][:4], b.data()[i:][:4])
	}
	return ""
}

// differInControl compares signals and where control went: the distance from the end of the instruction where it goes on behind
// it, else an address.
func differInControl(p *pair, a, b result) string {
	end, movedEnd := p.in.End(), twinCopy+uint64(len(p.moved))
	from, to := a.place(), b.place()
	switch {
	case a.signal() != b.signal() || a.word(wordCode) != b.word(wordCode):
		return fmt.Sprintf("signal %v (%d), moved %v (%d)", a.signal(), a.word(wordCode), b.signal(), b.word(wordCode))
	case from == twinOrig && a.signal() != syscall.SIGTRAP:
		if to != twinCopy {
			return fmt.Sprintf("fault at %#x, moved at %#x", from, to)
		}
	case from == end:
		if to != movedEnd {
			return fmt.Sprintf("went on at %#x, moved at %#x", from, to)
		}
	case from != to || p.in.Flow == FlowNext:
		return fmt.Sprintf("went to %#x, moved to %#x", from, to)
	}
	return ""
}

func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return min(i, len(a)-4)
		}
	}
	return -1
}

// mapNames are the opcode maps that the cases must have seen.
var mapNames = []struct {
	m    byte
	name string
}{{mapLegacy, "legacy"}, {map0F, "0F"}, {map0F38, "0F38"}, {map0F3A, "0F3A"}, {mapVEX | 1, "VEX 0F"}, {mapVEX | 2, "VEX 0F38"}, {mapVEX | 3, "VEX 0F3A"},
	{mapEVEX | 1, "EVEX 0F"}, {mapEVEX | 2, "EVEX 0F38"}, {mapEVEX | 3, "EVEX 0F3A"}}

func (c *comparison) report(took time.Duration) {
	c.t.Logf("%d cases in %.1f s (%.1f us each): %d opcodes, %d shapes (%d in the libraries); %d differences; %d went on (%d RIP-relative, branches %d taken, %d not, %d jrcxz and loops), faults alike %v; %d not movable, %d restless",
		c.cases, took.Seconds(), float64(took.Microseconds())/float64(c.cases), len(c.opcodes), len(c.shapes), c.shapesIn, c.bad, c.went, c.rip, c.taken, c.notTaken, c.loops, c.faults, c.refused, c.restless)
	var by []string
	for _, m := range mapNames {
		by = append(by, fmt.Sprintf("%s %d", m.name, c.maps[m.m]))
	}
	c.t.Logf("went on, by map: %s", strings.Join(by, ", "))
}

// enough fails the test if the cases say too little.
func (c *comparison) enough(n int) {
	for what, few := range map[string]bool{"went on": c.went < n/2, "are RIP-relative": c.rip < n/10, "are branches taken": c.taken < n/20,
		"are branches not taken": c.notTaken < n/100, "are loops": c.loops < n/200, "do the same twice": c.restless > n/1000} {
		if few {
			c.t.Errorf("too few of %d cases %s", c.cases, what)
		}
	}
	for _, m := range mapNames {
		if c.w.has(m.m) && c.maps[m.m] < n/200 {
			c.t.Errorf("only %d cases of the map %s went on", c.maps[m.m], m.name)
		}
	}
}

// TestTwinsNotice runs a nop beside copies that each change one thing, and one that changes nothing: the comparison must see
// every part of the state.
func TestTwinsNotice(t *testing.T) {
	c := &comparison{t: t, w: newTwins(t)}
	c.s = newStater(c.w, 1)
	seen := 0
	for _, e := range []struct{ name, code, moved, want string }{
		{"nothing", "90", "90", ""},
		{"another nop", "90", "0f1f00", ""},
		{"rax", "90", "48ffc0", "register 0"},
		{"rsp", "90", "488d6424f8", "register 4"},
		{"r15", "90", "49ffc7", "register 15"},
		{"carry flag", "90", "f5", "register 16"},
		{"ds", "90", "8ed9", "register 21"},
		{"base of fs", "90", "f3480faed2", "register 22"},
		{"base of gs", "90", "f3480faeda", "register 23"},
		{"x87 control word", "90", "d92c24", "extended state"},
		{"x87 registers", "90", "d9e8", "extended state"},
		{"xmm0", "90", "660fefc0", "extended state"},
		{"xmm15", "90", "66450fefff", "extended state"},
		{"upper halves of ymm", "90", "c5f877", "extended state"},
		{"zmm0", "90", "62f17d48efc0", "extended state"},
		{"zmm17", "90", "62a17540efc9", "extended state"},
		{"k1", "90", "c4e1f446c9", "extended state"},
		{"memory", "90", "f61424", "memory"},
		{"a fault", "90", "f4", "signal"},
		{"another fault", "f4", "0f0b", "signal"},
		{"the address of a fault", "8a042510000000", "8a042511000000", "register 20"},
		{"a jump", "90", "eb10", "went on"},
		{"where a jump leads to", "eb10", "eb10", "went to"},
	} {
		p := &pair{code: unhex(t, e.code), moved: unhex(t, e.moved)}
		in, err := Decode(p.code, twinOrig)
		if err != nil {
			t.Fatal(err)
		}
		p.in = in
		s := c.w.slot(0)
		c.s.put(s, p.code, in)
		s.setReg(int(RCX), 0x2B)      // a selector for data
		s.setReg(int(RDX), dataMid+8) // a base
		s.setCode(0, p.code)
		s.setCode(1, p.moved)
		c.w.run(1)
		if got := c.differ(p, s); s.result(1).signal() == syscall.SIGILL && e.want != "signal" {
			t.Logf("this processor has no % x (%s)", p.moved, e.name)
		} else if e.want == "" && got != "" || !strings.HasPrefix(got, e.want) {
			t.Errorf("%s: %q, want %q", e.name, got, e.want)
		}
		seen++
	}
	t.Logf("%d kinds of differences", seen)
}
