package trampoline

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// nativeVectors is what every processor of today can save: x87, SSE, AVX and AVX-512.
var nativeVectors = VectorState{Mask: CallMask, Size: 2688}

// putCallees puts functions that probes may call into the text, and the stub that calls them. They leave nothing as it was that
// the ABI lets them change, and the x87 stack in a state that it does not.
func putCallees(t testing.TB, text []byte) {
	t.Helper()
	stub, _, err := CallStub(nativeVectors, callAt, gateAt)
	if err != nil {
		t.Fatal(err)
	}
	copy(text[callAt-textAt:], stub)
	for n := range 7 {
		at := uint64(sumsAt + n*sumSize)
		copy(text[at-textAt:], sum(n, at))
	}
	var a x86.Asm
	a.Init(storeAt)
	a.AddMR(x86.RDI, 0, x86.RSI)
	a.MovRM(x86.RAX, x86.RDI, 0)
	spoil(&a)
	copy(text[storeAt-textAt:], a.Bytes())
}

// sum makes a function that returns 7 + arg0 + 2*arg1 + 4*arg2 + ...; it stops the program if the stack is not aligned.
func sum(n int, at uint64) []byte {
	var a x86.Asm
	a.Init(at)
	a.Raw(0x0F, 0x29, 0x44, 0x24, 0xF8-0x10) // movaps %xmm0,-24(%rsp)
	a.MovImm32(x86.RAX, 7)
	for i := range n {
		a.ShlRI(argRegs[i], uint8(i))
		a.AddRR(x86.RAX, argRegs[i])
	}
	spoil(&a)
	return a.Bytes()
}

// spoil changes whatever a function may, and returns.
func spoil(a *x86.Asm) {
	for i, r := range []x86.Reg{x86.RCX, x86.RDX, x86.RSI, x86.RDI, x86.R8, x86.R9, x86.R10, x86.R11} {
		a.MovImm32(r, 0xDEAD0000+uint32(i))
	}
	for i := range byte(8) {
		a.Raw(0x66, 0x0F, 0x76, 0xC0|i<<3|i) // pcmpeqd %xmm<i>, %xmm<i>
	}
	a.Raw(0xD9, 0xE8, 0xF9) // fld1; stc
	a.Ret()
}

// randomCall is a call of one of the callees.
func randomCall(rng *rand.Rand, k planner.PointKind, depth int) *Expr {
	if rng.IntN(4) == 0 {
		cell := &Expr{Op: ExAddr, Value: int64(wordCell(rng.IntN(8)))}
		return &Expr{Op: ExCall, Value: storeAt, Args: []*Expr{cell, randomExpr(rng, k, 1)}}
	}
	e := &Expr{Op: ExCall, Value: sumsAt}
	for range rng.IntN(7) {
		e.Args = append(e.Args, randomExpr(rng, k, max(depth-1, 1)))
		e.Value += sumSize
	}
	return e
}

// TestCallInsideCall: a call is left out while another one of the thread is under way, and made again when that one was left by
// an exception, which shows by a stack that is higher than it was.
func TestCallInsideCall(t *testing.T) {
	r := startRunner(t)
	plan, groups := callAtEntry(t, &Expr{Op: ExCall, Value: sumsAt})
	for _, c := range []struct {
		name  string
		depth uint64
		want  uint64
	}{
		{"no call under way", 0, 7},
		{"inside a call", entrySP + 4096, 0},
		{"inside a call on another stack", entrySP - 16<<20, 0},
		{"after a call that was left by an exception", entrySP - 4096, 7},
	} {
		s := plainSample()
		text := s.text(t, true)
		_, _, stubs := patch(t, plan, groups, text)
		data := make([]byte, dataSize)
		mine := block(data, nativeGeometry.Slot(r.self))
		binary.LittleEndian.PutUint64(mine, r.self)
		binary.LittleEndian.PutUint64(mine[CallDepth:], c.depth)
		_, got := r.run(t, funcAt, registers{}, text, data, stubs...)
		mine = block(got, nativeGeometry.Slot(r.self))
		if v := binary.LittleEndian.Uint64(mine[wordCell(0):]); v != c.want {
			t.Errorf("%s: the call gives %d, expected %d", c.name, v, c.want)
		}
		if v := binary.LittleEndian.Uint64(mine[CallDepth:]); c.want != 0 && v != 0 {
			t.Errorf("%s: the guard is %#x when the call is over", c.name, v)
		}
	}
}

// plainSample is a function that does nothing.
func plainSample() *sample {
	s := &sample{code: []byte{0x48, 0x8D, 0x44, 0x37, 0x01, 0xC3}, padding: 11} // lea 1(%rdi,%rsi),%rax; ret
	s.insts = decodeAll(s.code, funcAt)
	s.points = []planner.Point{{Kind: planner.FuncEntry, Addr: funcAt}}
	s.target = funcAt
	return s
}

func callAtEntry(t *testing.T, e *Expr) (*planner.Plan, map[planner.Point][]Group) {
	s := plainSample()
	plan := planner.MakePlan(s.body(), s.points)
	if len(plan.Refused) > 0 {
		t.Fatal(plan.Refused)
	}
	return plan, map[planner.Point][]Group{{Kind: planner.FuncEntry, Addr: funcAt}: {{Owner: 1, Minis: []Mini{{Op: Set, Cell: wordCell(0), Expr: e}}}}}
}

// TestCallIsRefused: without the stub, or with too many arguments, there is no trampoline.
func TestCallIsRefused(t *testing.T) {
	e := &Expr{Op: ExCall, Value: sumsAt}
	plan, groups := callAtEntry(t, e)
	site, _ := plan.SiteOf(planner.Point{Kind: planner.FuncEntry, Addr: funcAt})
	list := [][]Group{groups[planner.Point{Kind: planner.FuncEntry, Addr: funcAt}]}
	env := *nativeEnv()
	env.CallAddr = 0
	if _, err := Generate(&env, site, list, roomAt); err == nil {
		t.Error("a trampoline calls without a stub")
	}
	for range 7 {
		e.Args = append(e.Args, &Expr{Op: ExConst})
	}
	if _, err := Generate(nativeEnv(), site, list, roomAt); err == nil {
		t.Error("a call has seven arguments")
	}
}

// TestCallThatForks: where the function that a probe calls has forked, its child goes on with what the program does, and touches no
// thread block: it has none.
func TestCallThatForks(t *testing.T) {
	r := startRunner(t)
	fork := &Expr{Op: ExCall, Value: storeAt, Args: []*Expr{{Value: gateAt}, {Value: 1}}} // which closes the open gate
	for name, e := range map[string]*Expr{
		"alone":             fork,
		"in a sum":          {Op: ExAdd, L: &Expr{Op: ExArg, Value: 1}, R: &Expr{Op: ExMul, L: fork, R: &Expr{Value: 3}}},
		"among arguments":   {Op: ExCall, Value: sumsAt + 2*sumSize, Args: []*Expr{fork, {Value: 2}}},
		"behind a division": {Op: ExDiv, L: &Expr{Value: 5}, R: fork},
	} {
		plan, groups := callAtEntry(t, e)
		s := plainSample()
		text, data, regs := s.text(t, true), make([]byte, dataSize), registers{}
		for i := range regs {
			regs[i] = 0x1111 * uint64(i+1)
		}
		mine := block(data, nativeGeometry.Slot(r.self))
		binary.LittleEndian.PutUint64(mine, r.self)
		plain, _ := r.run(t, funcAt, regs, text, data)
		_, _, stubs := patch(t, plan, groups, text)
		after, got := r.run(t, funcAt, regs, text, data, stubs...)
		if after != plain {
			t.Errorf("%s: registers %x, without trampolines %x", name, after, plain)
		}
		clear(block(got, nativeGeometry.Slot(r.self))[CallDepth:][:8]) // written before the call
		if string(got) != string(data) {
			t.Errorf("%s: the child has written to thread blocks", name)
		}
	}
}
