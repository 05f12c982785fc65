package trampoline

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"

	"culprit/internal/testprog"
	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

var long = flag.Bool("long", false, "run the long forms of the tests (minutes)")

// Where testdata/runner.c puts things, and what this test puts there.
const (
	textAt   = 0x10000000
	padsAt   = textAt + 0xc0 // room for five long jumps
	funcAt   = textAt + 0x100
	calleeAt = textAt + 0x1000
	tailAt   = textAt + 0x1100
	gateAt   = textAt + 0x2000
	slowAt   = textAt + 0x2100
	callAt   = textAt + 0x2400
	sumsAt   = textAt + 0x1800 // of the callee with no argument; sumSize further the one with one, and so on
	storeAt  = sumsAt + 7*sumSize
	sumSize  = 0x100
	roomAt   = textAt + 0x3000
	textSize = 0x8000
	stubsAt  = textAt + 1<<20 // of punned sites
	dataAt   = 0x20000000
	stackTop = 0x30010000
)

var nativeGeometry = Geometry{Slots: 8, BlockSize: blockSize, LedgerCap: 1, CodeSize: 1}

const (
	blockSize = 8192
	dataSize  = PageSize + 9*blockSize
	filesAt   = dataAt + dataSize
)

func nativeEnv() *Env {
	return &Env{Geometry: nativeGeometry, ClaimsAddr: dataAt, DataAddr: dataAt + PageSize, SlowAddr: slowAt, CallAddr: callAt, GateAddr: gateAt, FilesAddr: filesAt, Scale: 1 << scaleBits / 3}
}

// env is what trampolines know of the runner: perhaps its number, or one that nobody has, as that of a process whose first thread
// has ended.
func (r *runner) env(rng *rand.Rand) *Env {
	env := nativeEnv()
	env.PID = []int{0, r.pid, 1<<31 - 1}[rng.IntN(3)]
	return env
}

// A runner is a process that runs machine code.
type runner struct {
	in   io.Writer
	out  io.Reader
	self uint64 // its thread pointer
	pid  int
}

func startRunner(t testing.TB) *runner {
	t.Helper()
	cmd := exec.Command(testprog.Build(t, "trampoline/testdata/runner.c"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	r := &runner{in: in, out: out, pid: cmd.Process.Pid}
	if err := binary.Read(out, binary.LittleEndian, &r.self); err != nil {
		t.Fatal(err)
	}
	return r
}

type registers [16]uint64

// run calls the code at entry and returns registers and data afterwards.
func (r *runner) run(t testing.TB, entry uint64, regs registers, text, data []byte, stubs ...planner.Piece) (registers, []byte) {
	t.Helper()
	req := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	req = binary.LittleEndian.AppendUint64(req, uint64(len(data)))
	req = binary.LittleEndian.AppendUint64(req, entry)
	req = binary.LittleEndian.AppendUint64(req, uint64(len(stubs)))
	for _, v := range regs {
		req = binary.LittleEndian.AppendUint64(req, v)
	}
	req = append(req, text...)
	for _, st := range stubs {
		req = binary.LittleEndian.AppendUint64(req, st.Addr)
		req = append(req, append(st.Bytes, 0xCC, 0xCC, 0xCC)...)
	}
	req = append(req, data...)
	if _, err := r.in.Write(req); err != nil {
		t.Fatalf("the runner has ended: %v", err)
	}
	var after registers
	if err := binary.Read(r.out, binary.LittleEndian, &after); err != nil {
		t.Fatalf("the code crashed: %v", err)
	}
	out := make([]byte, len(data))
	if _, err := io.ReadFull(r.out, out); err != nil {
		t.Fatal(err)
	}
	return after, out
}

// A sample is a function made up by chance, and the points in it.
type sample struct {
	code    []byte
	padding uint64 // bytes behind it that nobody needs
	insts   []x86.Inst
	points  []planner.Point
	target  uint64 // what the planner is told that something may jump to
	noPads  bool   // there is no padding nearby
}

const entrySP = stackTop - 8

// makeSample makes a function: some arithmetic on registers, perhaps a call, more arithmetic, and one of several ends.
func makeSample(rng *rand.Rand) *sample {
	s := &sample{padding: []uint64{0, 1, 4, 11}[rng.IntN(4)], noPads: rng.IntN(3) == 0}
	var a x86.Asm
	a.Init(funcAt)
	if rng.IntN(3) == 0 {
		a.Raw(0xF3, 0x0F, 0x1E, 0xFA) // endbr64
	}
	call := rng.IntN(3)
	if rng.IntN(4) == 0 {
		call = 0
		for range rng.IntN(5) {
			tiny(&a, rng)
		}
	} else {
		for range rng.IntN(8) {
			arithmetic(&a, rng)
		}
	}
	var calls []uint64
	switch call {
	case 0:
		calls = append(calls, callDirect(&a))
		if rng.IntN(2) == 0 { // another that follows at once or soon
			for range rng.IntN(3) {
				arithmetic(&a, rng)
			}
			calls = append(calls, callDirect(&a))
		}
	case 1:
		a.MovImm64(x86.R11, calleeAt)
		calls = append(calls, a.Addr())
		a.Raw(0x41, 0xFF, 0xD3) // call *%r11
	}
	for range rng.IntN(5) {
		arithmetic(&a, rng)
	}
	kind, at := planner.Ret, a.Addr()
	switch rng.IntN(4) {
	case 0:
		a.JmpAddr(tailAt)
		kind = planner.TailJump
	case 1:
		a.TestRR(x86.RAX, x86.RDI)
		at = a.Addr()
		a.JccAddr(x86.Cond(rng.IntN(16)), tailAt)
		s.points = append(s.points, planner.Point{Kind: planner.TailCond, Addr: at})
		at = a.Addr()
		a.Ret()
	default:
		a.Ret()
	}
	s.points = append([]planner.Point{{Kind: planner.FuncEntry, Addr: funcAt}, {Kind: kind, Addr: at}}, s.points...)
	s.code = a.Bytes()
	s.insts = decodeAll(s.code, funcAt)
	if s.target = funcAt; rng.IntN(3) == 0 {
		s.target = s.insts[rng.IntN(len(s.insts))].Addr
	}
	for _, c := range calls {
		for _, in := range s.insts {
			if in.Addr == c {
				s.points = append(s.points, planner.Point{Kind: planner.CallPre, Addr: c}, planner.Point{Kind: planner.CallPost, Addr: in.End()})
			}
		}
	}
	return s
}

// callDirect emits a direct call and returns its address.
func callDirect(a *x86.Asm) uint64 {
	at := a.Addr()
	d := int32(calleeAt - int64(at) - 5)
	a.Raw(0xE8, byte(d), byte(d>>8), byte(d>>16), byte(d>>24))
	return at
}

var scratchRegs = []x86.Reg{x86.RAX, x86.RCX, x86.RDX, x86.RBX, x86.RBP, x86.RSI, x86.RDI, x86.R8, x86.R9, x86.R10, x86.R12, x86.R15}

// tiny emits an instruction of one or two bytes: functions begin with few bytes before a call.
func tiny(a *x86.Asm, rng *rand.Rand) {
	switch rng.IntN(3) {
	case 0:
		a.Raw(0x91) // xchg %eax, %ecx
	case 1:
		a.Raw(0x97) // xchg %eax, %edi
	case 2:
		a.Raw(0x01, 0xFE) // add %edi, %esi
	}
}

func arithmetic(a *x86.Asm, rng *rand.Rand) {
	r := func() x86.Reg { return scratchRegs[rng.IntN(len(scratchRegs))] }
	switch rng.IntN(9) {
	case 0:
		a.MovImm64(r(), rng.Uint64())
	case 1:
		a.AddRR(r(), r())
	case 2:
		a.SubRI(r(), int32(rng.Uint32()))
	case 3:
		a.ImulRR(r(), r())
	case 4:
		a.Lea(r(), r(), int32(rng.IntN(200)))
	case 5:
		a.XorRR(r(), r())
	case 6:
		a.ShlRI(r(), uint8(1+rng.IntN(30)))
	case 7:
		a.NegR(r())
	case 8:
		a.LeaAddr(r(), textAt+uint64(rng.IntN(4096))) // reads its own address
	}
}

func decodeAll(code []byte, at uint64) (insts []x86.Inst) {
	for len(code) > 0 {
		in, err := x86.Decode(code, at)
		if err != nil {
			panic(err)
		}
		insts = append(insts, in)
		code, at = code[in.Len:], at+uint64(in.Len)
	}
	return insts
}

// body is the sample as the planner sees it: padding of int3 follows.
func (s *sample) body() *planner.Body {
	end, pads := funcAt+uint64(len(s.code)), padsAt
	return &planner.Body{
		Insts:  s.insts,
		Bytes:  func(addr uint64, n int) []byte { return s.code[addr-funcAt:][:n] },
		Target: func(addr uint64) bool { return addr == funcAt || addr == s.target },
		PadEnd: func(addr uint64) uint64 {
			if addr == end {
				return end + s.padding
			}
			return addr
		},
		Pads: func(near uint64) []planner.Pad {
			if s.noPads || near-funcAt > 0x38 || pads >= funcAt {
				return nil
			}
			pads += 8
			return []planner.Pad{{Addr: uint64(pads - 8), Len: planner.JumpLen}}
		},
	}
}

// text is the runner's text with the sample in it.
func (s *sample) text(t testing.TB, open bool) []byte {
	t.Helper()
	text := make([]byte, textSize)
	for i := range text {
		text[i] = 0xCC
	}
	copy(text[funcAt-textAt:], s.code)
	copy(text[calleeAt-textAt:], []byte{0x48, 0xFF, 0xC0, 0x49, 0x31, 0xC1, 0xC3}) // inc %rax; xor %rax,%r9; ret
	text[tailAt-textAt] = 0xC3
	copy(text[gateAt-textAt:], gateWord(open))
	stub, err := SlowStub(nativeEnv(), slowAt)
	if err != nil {
		t.Fatal(err)
	}
	copy(text[slowAt-textAt:], stub)
	putCallees(t, text)
	return text
}

// patch writes the trampolines of a plan and the jumps to them, and returns the trampolines and the stubs of punned sites.
func patch(t testing.TB, plan *planner.Plan, groups map[planner.Point][]Group, text []byte) (bases []*Base, at []uint64, stubs []planner.Piece) {
	t.Helper()
	room := uint64(roomAt)
	for _, s := range plan.Sites {
		list := make([][]Group, len(s.Marks))
		n := 0
		for i, m := range s.Marks {
			list[i] = groups[m.Point]
			n += len(list[i])
		}
		if n == 0 {
			continue
		}
		b, err := Generate(nativeEnv(), s, list, room)
		if err != nil {
			t.Fatal(err)
		}
		copy(text[room-textAt:], b.Code)
		way := b.Way(room)
		if s.Tactic == planner.Punned {
			more := stubsOf(t, s, way, stubs)
			way = planner.Way{Site: more[0].Addr, Host: more[1].Addr}
			stubs = append(stubs, more...)
		}
		pieces, err := s.Patch(way)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces {
			copy(text[p.Addr-textAt:], p.Bytes)
		}
		bases, at = append(bases, b), append(at, room)
		room += uint64(len(b.Code)+63) &^ 63
	}
	return bases, at, stubs
}

// stubsOf makes the two stubs of a punned site, from which w goes on, beside those that there are.
func stubsOf(t testing.TB, s *planner.Site, w planner.Way, others []planner.Piece) []planner.Piece {
	t.Helper()
	if call := s.Host.Call(); call != 0 {
		w.Host = call
	}
	free := func(at uint64) bool {
		for _, o := range others {
			if at < o.Addr+8 && o.Addr < at+8 {
				return false
			}
		}
		return true
	}
	for first := s.FirstPunStub(stubsAt); first < stubsAt+48<<20; first = s.FirstPunStub(first + 8) {
		second, ok := s.PunStub(first, stubsAt)
		if !ok || !free(first) || !free(second) || second < first+8 && first < second+8 {
			continue
		}
		a, errA := planner.Jump(first, w.Site)
		b, errB := planner.Jump(second, w.Host)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		return []planner.Piece{{Addr: first, Bytes: a}, {Addr: second, Bytes: b}}
	}
	t.Fatalf("no place for the stubs of %+v", s)
	return nil
}

// makeGroups gives each point that has a site some primitives by chance.
func makeGroups(rng *rand.Rand, plan *planner.Plan, points []planner.Point) map[planner.Point][]Group {
	groups := map[planner.Point][]Group{}
	for _, p := range points {
		if s, _ := plan.SiteOf(p); s == nil {
			continue
		}
		for range rng.IntN(3) {
			var g Group
			g.Owner = uint64(1 + rng.IntN(5))
			for range 1 + rng.IntN(3) {
				g.Minis = append(g.Minis, randomMini(rng, p.Kind))
			}
			groups[p] = append(groups[p], g)
		}
	}
	return groups
}

// Cells of a block: words from 64 on, timers from 256 on, the buckets of one distribution.
const bucketsCell = 512

// tableCell is the cell of a table.
const tableCell = 2560

func wordCell(i int) int32  { return int32(64 + 8*i) }
func timerCell(i int) int32 { return int32(256 + TimerSize*i) }

func randomMini(rng *rand.Rand, k planner.PointKind) Mini {
	m := Mini{Op: Op(rng.IntN(int(GaugeSet) + 1)), Cell: timerCell(rng.IntN(4))}
	if m.Op.gauge() {
		randomGauge(rng, k, &m)
	}
	if m.Op.Run() || m.Op.row() {
		m.Cell, m.Row = rowTimerCell(m.Op, rng.IntN(2)), wordCell(rng.IntN(8))-rowInBlock
	}
	if m.Op <= FlagLeave {
		m.Cell = wordCell(rng.IntN(8))
	}
	if slices.Contains([]Op{FlagLeave, WallLeave, CPULeave, RunLeave, RowLeave}, m.Op) && rng.IntN(3) == 0 {
		m.Ending = ByCaller
	}
	if m.Op == Add || m.Op == Set {
		m.Expr = randomExpr(rng, k, 1+rng.IntN(3))
	}
	if m.Op == Do {
		m.Cell, m.Expr = 0, randomCall(rng, k, 2)
	} else if rng.IntN(2) == 0 {
		m.Buckets = bucketsCell
	} else if m.Op == Add && rng.IntN(2) == 0 {
		m.Table, m.Key = tableCell, wordCell(rng.IntN(8))
	}
	for range rng.IntN(3) {
		m.Guards = append(m.Guards, Guard{Cell: wordCell(rng.IntN(8)), Activation: rng.IntN(2) == 0})
	}
	switch rng.IntN(4) {
	case 0:
		m.Cond = randomExpr(rng, k, 2)
	case 1:
		if k == planner.FuncEntry {
			m.Cond = &Expr{Op: ExEq, L: &Expr{Op: ExArg, Value: rng.Int64N(6)}, R: &Expr{Op: ExConst, Value: rng.Int64N(3)}}
		}
	}
	return m
}

func randomExpr(rng *rand.Rand, k planner.PointKind, depth int) *Expr {
	if depth == 1 || rng.IntN(4) == 0 {
		switch {
		case k == planner.FuncEntry && rng.IntN(2) == 0:
			return &Expr{Op: ExArg, Value: rng.Int64N(6)}
		case k.IsExit() && rng.IntN(2) == 0:
			return &Expr{Op: ExReturn}
		case rng.IntN(5) == 0:
			return stackLeaf(rng)
		case rng.IntN(12) == 0:
			return gaugeLeaf(rng)
		case rng.IntN(2) == 0:
			return &Expr{Op: ExWord, Value: int64(wordCell(rng.IntN(8)))}
		case rng.IntN(2) == 0:
			return &Expr{Op: ExConst, Value: rng.Int64N(5)}
		}
		return &Expr{Op: ExConst, Value: int64(rng.Uint64())}
	}
	switch rng.IntN(8) {
	case 0:
		return randomCall(rng, k, depth)
	case 1, 2:
		return memoryExpr(rng, k, depth)
	}
	e := &Expr{Op: ExAdd + ExprOp(rng.IntN(int(ExDiv-ExAdd)+1)), L: randomExpr(rng, k, depth-1)}
	if e.Op != ExNeg {
		e.R = randomExpr(rng, k, depth-1)
	}
	return e
}

// TestAgainstInterpreter runs functions made by chance with trampolines made by chance, and compares: what the function
// computes is what it computes without them, and the thread's block holds what an interpreter of the primitives puts there.
func TestAgainstInterpreter(t *testing.T) {
	r := startRunner(t)
	n := 3000
	if *long {
		n = 300_000
	}
	var did tally
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		if err := oneCase(t, r, rng, &did); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if did.late < n/100 {
		t.Errorf("only %d points behind a call are served at the next one", did.late)
	}
	t.Logf("%d functions; sites by tactic %v, %d points behind a call served at the next one, %d points refused, %d trampolines, %d primitives", n, did.tactics, did.late, did.refused, did.bases, did.minis)
	for _, tactic := range []planner.Tactic{planner.Retarget, planner.Single, planner.Padding, planner.Window, planner.Short, planner.Evicted, planner.Punned} {
		if did.tactics[tactic] < n/100 {
			t.Errorf("only %d sites by %q: the test sees too little of it", did.tactics[tactic], tactic)
		}
	}
}

type tally struct {
	tactics               map[planner.Tactic]int
	refused, bases, minis int
	late                  int // points behind a call that are served when the next call is made
}

func (d *tally) add(plan *planner.Plan, bases int, groups map[planner.Point][]Group) {
	if d.tactics == nil {
		d.tactics = map[planner.Tactic]int{}
	}
	for _, s := range plan.Sites {
		d.tactics[s.Tactic]++
		for _, m := range s.Marks {
			if m.Point.Kind == planner.CallPost && s.Tactic == planner.Retarget {
				d.late++
			}
		}
	}
	d.refused += len(plan.Refused)
	d.bases += bases
	for _, list := range groups {
		for _, g := range list {
			d.minis += len(g.Minis)
		}
	}
}

func oneCase(t testing.TB, r *runner, rng *rand.Rand, did *tally) error {
	s := makeSample(rng)
	plan := planner.MakePlan(s.body(), s.points)
	groups := makeGroups(rng, plan, s.points)
	var regs registers
	for i := range regs {
		regs[i] = randomRegister(rng)
	}
	data := make([]byte, dataSize)
	if rng.IntN(4) > 0 { // otherwise the block is claimed on the way
		binary.LittleEndian.PutUint64(block(data, nativeGeometry.Slot(r.self)), r.self)
	}
	plain, _ := r.run(t, funcAt, regs, s.text(t, true), data)
	text := s.text(t, true)
	bases, at, stubs := patch(t, plan, groups, text)
	did.add(plan, len(bases), groups)
	after, got := r.run(t, funcAt, regs, text, data, stubs...)
	if after != plain {
		return fmt.Errorf("registers %x, without trampolines %x\ncode % x\ngroups %+v", after, plain, s.code, groups)
	}
	m := newModel(block(data, nativeGeometry.Slot(r.self)), regs)
	m.at = blockAt(nativeGeometry.Slot(r.self))
	m.ret, m.finalRDI = plain[x86.RAX], plain[x86.RDI]
	m.function(s, plan, groups)
	if err := errors.Join(m.compare(block(got, nativeGeometry.Slot(r.self))), m.compareShared(got)); err != nil {
		return fmt.Errorf("%w\ncode % x\ngroups %+v", err, s.code, groups)
	}
	return shut(t, r, s, text, regs, data, plain, bases, at, stubs)
}

// randomRegister is any number, a small one, or an address.
func randomRegister(rng *rand.Rand) uint64 {
	switch rng.IntN(6) {
	case 0, 1:
		return uint64(rng.IntN(4)) | uint64(rng.IntN(2))<<40
	case 2:
		return someAddress(rng)
	}
	return rng.Uint64()
}

// gateWord is what stands at gateAt in a process, or in a forked child of it.
func gateWord(open bool) []byte {
	if !open {
		return make([]byte, 8)
	}
	return binary.LittleEndian.AppendUint64(nil, GateOpen)
}

// shut runs the same in a forked child, where the gate is closed, and with all switches off: nothing may be counted.
func shut(t testing.TB, r *runner, s *sample, text []byte, regs registers, data []byte, plain registers, bases []*Base, at []uint64, stubs []planner.Piece) error {
	copy(text[gateAt-textAt:], gateWord(false))
	after, got := r.run(t, funcAt, regs, text, data, stubs...)
	if after != plain || string(got) != string(data) {
		return fmt.Errorf("with the gate closed: registers %x, without trampolines %x", after, plain)
	}
	copy(text[gateAt-textAt:], gateWord(true))
	for i, b := range bases {
		off := b.Off(b.Switch)
		copy(text[at[i]-textAt+uint64(b.Switch):], off[:])
	}
	after, got = r.run(t, funcAt, regs, text, data, stubs...)
	if after != plain || string(got) != string(data) {
		return fmt.Errorf("switched off: registers %x, without trampolines %x", after, plain)
	}
	for i, b := range bases {
		on := b.On(b.Switch)
		copy(text[at[i]-textAt+uint64(b.Switch):], on[:])
		for _, toggles := range b.Toggles {
			for _, k := range toggles {
				off := b.Off(k)
				copy(text[at[i]-textAt+uint64(k):], off[:])
			}
		}
	}
	after, got = r.run(t, funcAt, regs, text, data, stubs...)
	if after != plain || string(block(got, nativeGeometry.Slot(r.self))[8:]) != string(block(data, nativeGeometry.Slot(r.self))[8:]) {
		return fmt.Errorf("all groups switched off: registers %x, without trampolines %x", after, plain)
	}
	return nil
}

func blockAt(slot int) uint64 { return dataAt + PageSize + blockSize*uint64(slot) }

func block(data []byte, slot int) []byte { return data[PageSize+blockSize*slot:][:blockSize] }

// TestFullTable runs the stub that finds thread blocks on tables that are full, or full of others, up to the overflow block.
func TestFullTable(t *testing.T) {
	r := startRunner(t)
	home := nativeGeometry.Slot(r.self)
	add := map[planner.Point][]Group{{Kind: planner.FuncEntry, Addr: funcAt}: {{Owner: 1, Minis: []Mini{{Op: Add, Cell: wordCell(0), Expr: &Expr{Value: 1}}}}}}
	s := &sample{code: []byte{0x48, 0x81, 0xC7, 1, 2, 3, 4, 0xC3}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: funcAt}}}
	s.insts = decodeAll(s.code, funcAt)
	plan := planner.MakePlan(s.body(), s.points)
	text := s.text(t, true)
	patch(t, plan, add, text)
	for others := 0; others <= nativeGeometry.Slots; others++ {
		data := make([]byte, dataSize)
		for i := range others {
			binary.LittleEndian.PutUint64(block(data, (home+i)%nativeGeometry.Slots), 0x1000+uint64(i))
		}
		want := (home + others) % nativeGeometry.Slots
		if others == nativeGeometry.Slots {
			want = nativeGeometry.Slots // the overflow block
		}
		regs := registers{x86.RAX: 5, x86.RCX: 6, x86.RDX: 7, x86.RSI: 8, x86.RDI: 9}
		after, got := r.run(t, funcAt, regs, text, data)
		if after[x86.RDI] != 9+0x04030201 || after[x86.RAX] != 5 || after[x86.RCX] != 6 || after[x86.RDX] != 7 || after[x86.RSI] != 8 {
			t.Errorf("%d blocks taken: registers %x", others, after)
		}
		for slot := range nativeGeometry.Slots + 1 {
			n := binary.LittleEndian.Uint64(block(got, slot)[wordCell(0):])
			if (n == 1) != (slot == want) || others > 0 && (got[slot] != 0) != (slot == want) {
				t.Errorf("%d blocks taken: block %d counts %d, claimed %d", others, slot, n, got[slot])
			}
		}
	}
}

// TestEntryByBranch: where a function begins with a branch whose displacement leads into the trampoline, the stack pointer of its
// entry is that of the function, whether the branch is a call, which has pushed a word by then, or a jump.
func TestEntryByBranch(t *testing.T) {
	r := startRunner(t)
	for name, c := range map[string]struct {
		op   byte
		to   int64
		more []planner.Point
	}{"call": {0xE8, calleeAt, []planner.Point{{Kind: planner.CallPre, Addr: funcAt}, {Kind: planner.Ret, Addr: funcAt + 12}}}, "jump": {0xE9, tailAt, []planner.Point{{Kind: planner.TailJump, Addr: funcAt}}}} {
		d := int32(c.to - funcAt - planner.JumpLen)
		code := append([]byte{c.op, byte(d), byte(d >> 8), byte(d >> 16), byte(d >> 24)}, 0x48, 0x81, 0xC7, 1, 2, 3, 4, 0xC3)
		s := &sample{code: code, insts: decodeAll(code, funcAt), points: append([]planner.Point{{Kind: planner.FuncEntry, Addr: funcAt}}, c.more...)}
		plan := planner.MakePlan(s.body(), s.points)
		site, refusal := plan.SiteOf(s.points[0])
		if refusal != nil || site.Tactic != planner.Retarget {
			t.Fatalf("%s: %+v, %v", name, site, refusal)
		}
		enter := map[planner.Point][]Group{s.points[0]: {{Owner: 1, Minis: []Mini{{Op: FlagEnter, Cell: wordCell(0)}}}}}
		text := s.text(t, true)
		patch(t, plan, enter, text)
		data := make([]byte, dataSize)
		_, got := r.run(t, funcAt, registers{}, text, data)
		if sp := binary.LittleEndian.Uint64(block(got, nativeGeometry.Slot(r.self))[wordCell(0):]); sp != entrySP {
			t.Errorf("%s: the flag holds %#x, the function was entered with %#x", name, sp, uint64(entrySP))
		}
	}
}
