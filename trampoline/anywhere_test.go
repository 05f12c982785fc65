package trampoline

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"culprit/grid"
	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// Programs with loops, branches, live flags and data in the red zone, made by chance. The oracle is the processor: a second
// version of the program counts, in memory and without touching a flag or the stack, how often every instruction begins and
// how often control falls through behind it.

// An op is an instruction of such a program. Jumps name the op that they lead to.
type op struct {
	emit func(a *x86.Asm)
	cond x86.Cond
	to   int // -1 = no jump
	near bool
}

const (
	countsAt = dataAt + dataSize // two words for each op, behind the thread blocks
	maxOps   = 64
	countLen = maxOps * 16
)

// redSlots are the words of the red zone that programs use.
var redSlots = []int32{-8, -48, -88, -128}

// makeLoops makes a program: one loop or two, one in the other, with arithmetic and forward branches inside, and at the end all
// flags in rax.
func makeLoops(rng *rand.Rand) (ops []op) {
	plain := func(f func(a *x86.Asm)) { ops = append(ops, op{emit: f, to: -1}) }
	straight := func() {
		for range 1 + rng.IntN(4) {
			seed := rng.Uint64()
			plain(func(a *x86.Asm) { flagged(a, rand.New(rand.NewPCG(seed, 1))) })
		}
	}
	loop := func(counter byte, inner func()) {
		plain(func(a *x86.Asm) { a.Raw(0x41, 0xB8|counter&7, byte(2+counter&1), 0, 0, 0) }) // mov $n, %r13d or %r14d
		top := len(ops)
		straight()
		skip := len(ops)
		ops = append(ops, op{cond: x86.Cond(rng.IntN(16)), near: rng.IntN(2) == 0})
		straight()
		ops[skip].to = len(ops)
		inner()
		straight()
		plain(func(a *x86.Asm) { a.Raw(0x49, 0xFF, 0xC8|counter&7) }) // dec
		ops = append(ops, op{cond: x86.CondNE, to: top, near: rng.IntN(2) == 0})
	}
	for i, at := range redSlots {
		plain(func(a *x86.Asm) { a.MovMR(x86.RSP, at, scratchRegs[i]) })
	}
	plain(func(a *x86.Asm) { a.CmpRR(x86.RAX, x86.RDX) }) // flags are dead at the entry
	straight()
	loop(13, func() {
		if rng.IntN(2) == 0 {
			loop(14, func() {})
		}
	})
	straight()
	plain(func(a *x86.Asm) { a.Lahf() })
	plain(func(a *x86.Asm) { a.SetO() })
	plain(func(a *x86.Asm) { a.Ret() })
	return ops
}

// flagged is one instruction that may read or write flags, registers and the red zone.
func flagged(a *x86.Asm, rng *rand.Rand) {
	r := func() x86.Reg { return scratchRegs[rng.IntN(8)] }
	x, y := byte(r()), byte(r())
	rex, modrm := 0x48|x>>3<<2|y>>3, 0xC0|x&7<<3|y&7
	switch rng.IntN(8) {
	case 0:
		a.Raw(rex, 0x11, modrm) // adc
	case 1:
		a.Raw(rex, 0x19, modrm) // sbb
	case 2:
		a.Raw(rex, 0x0F, 0x40|byte(rng.IntN(16)), modrm) // cmovcc
	case 3:
		a.MovMR(x86.RSP, redSlots[rng.IntN(len(redSlots))], r()) // into the red zone
	case 4:
		a.MovRM(r(), x86.RSP, redSlots[rng.IntN(len(redSlots))])
	case 5:
		a.Setcc(x86.Cond(rng.IntN(16)), r())
	case 6:
		a.CmpRR(r(), r())
	default:
		arithmetic(a, rng)
	}
}

// assemble makes the code of a program. With counting, every op counts when it begins and when control goes on behind it.
func assemble(ops []op, counting bool) (code []byte, starts []uint64) {
	var a x86.Asm
	a.Init(funcAt)
	if counting {
		a.Init(countedAt)
	}
	labels := make([]x86.Label, len(ops))
	for i := range labels {
		labels[i] = a.NewLabel()
	}
	for i, o := range ops {
		a.Bind(labels[i])
		if counting {
			countOne(&a, 2*i)
		}
		starts = append(starts, a.Addr())
		switch {
		case o.to < 0:
			o.emit(&a)
		case o.near || counting:
			a.JccNear(o.cond, labels[o.to])
		default:
			a.Jcc(o.cond, labels[o.to])
		}
		if counting && i+1 < len(ops) {
			countOne(&a, 2*i+1)
		}
	}
	if err := a.Finish(); err != nil {
		panic(err)
	}
	return a.Bytes(), starts
}

// countOne adds one to a word by way of r11, which programs leave alone, and lea, which leaves the flags alone.
func countOne(a *x86.Asm, i int) {
	at := binary.LittleEndian.AppendUint32(nil, uint32(countsAt+8*i))
	a.Raw(append([]byte{0x4C, 0x8B, 0x1C, 0x25}, at...)...) // mov at, %r11
	a.Lea(x86.R11, x86.R11, 1)
	a.Raw(append([]byte{0x4C, 0x89, 0x1C, 0x25}, at...)...)
}

const countedAt = textAt + 0x4000

// loopBody is a program for the planner.
func loopBody(code []byte, ops []op, starts []uint64) *planner.Body {
	targets := map[uint64]bool{funcAt: true}
	for _, o := range ops {
		if o.to >= 0 {
			targets[starts[o.to]] = true
		}
	}
	return &planner.Body{
		Insts:  decodeAll(code, funcAt),
		Bytes:  func(addr uint64, n int) []byte { return code[addr-funcAt:][:n] },
		Target: func(addr uint64) bool { return targets[addr] },
		PadEnd: func(addr uint64) uint64 { return addr },
	}
}

// TestAnywhere counts instructions, falls and taken branches of programs made by chance, and compares with the processor's own counts;
// what the program computes, its flags and its red zone stay as they are.
func TestAnywhere(t *testing.T) {
	r := startRunner(t)
	n := 1500
	if *long {
		n = 100_000
	}
	served, refused, sections := map[string]int{}, 0, 0
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 21))
		ops := makeLoops(rng)
		if len(ops) > maxOps {
			continue
		}
		if err := anywhereCase(t, r, rng, ops, served, &refused, &sections); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%d programs: points served %v, %d refused, %d trampolines", n, served, refused, sections)
	for _, k := range []planner.PointKind{planner.Before, planner.Behind, planner.Taken} {
		if served[k.String()] < n {
			t.Errorf("only %d points %q were served", served[k.String()], k)
		}
	}
}

func anywhereCase(t testing.TB, r *runner, rng *rand.Rand, ops []op, served map[string]int, refused, sections *int) error {
	code, starts := assemble(ops, false)
	counted, _ := assemble(ops, true)
	s := &sample{code: code, insts: decodeAll(code, funcAt)}
	body := loopBody(code, ops, starts)
	plan := planner.MakePlan(body, []planner.Point{{Kind: planner.FuncEntry, Addr: funcAt}, {Kind: planner.Ret, Addr: starts[len(ops)-1]}})
	used := map[*planner.Site]bool{}
	for range 2 { // what was planned before is in use, or not
		for _, s := range plan.Sites {
			used[s] = rng.IntN(2) == 0
		}
		before := *plan
		plan, _ = plan.Extend(body, chosen(rng, ops, starts), func(s *planner.Site) bool { return used[s] })
		if err := sameWhereUsed(&before, plan, used); err != nil {
			return err
		}
	}

	var regs registers
	for i := range regs {
		regs[i] = rng.Uint64()
	}
	data := make([]byte, dataSize+countLen)
	binary.LittleEndian.PutUint64(block(data, nativeGeometry.Slot(r.self)), r.self)
	text := s.text(t, true)
	copy(text[countedAt-textAt:], counted)
	_, truth := r.run(t, countedAt, regs, text, data)
	plain, _ := r.run(t, funcAt, regs, text, data)

	groups, want := map[planner.Point][]Group{}, map[int32]uint64{}
	cell := int32(16)
	for i, o := range ops {
		for _, k := range []planner.PointKind{planner.Before, planner.Behind, planner.Taken} {
			pt := planner.Point{Kind: k, Addr: starts[i]}
			site, _ := plan.SiteOf(pt)
			if site == nil || cell >= bucketsCell {
				continue
			}
			served[k.String()]++
			m := Mini{Op: Add, Cell: cell, Expr: &Expr{Value: 1}}
			if rng.IntN(3) == 0 {
				m.Expr = &Expr{Op: ExAdd, L: &Expr{Value: 1}, R: &Expr{Op: ExMul, L: &Expr{Value: 0}, R: &Expr{Op: ExArg, Value: rng.Int64N(6)}}}
			}
			if rng.IntN(3) == 0 {
				m.Buckets = bucketsCell
			}
			groups[pt] = []Group{{Owner: 1, Minis: []Mini{m}}}
			begun := binary.LittleEndian.Uint64(truth[countsAt-dataAt+16*i:])
			fell := binary.LittleEndian.Uint64(truth[countsAt-dataAt+16*i+8:])
			want[cell] = map[planner.PointKind]uint64{planner.Before: begun, planner.Behind: fell, planner.Taken: begun - fell}[k]
			if m.Buckets != 0 {
				want[bucketsCell+int32(grid.BucketOf(1))*WordSize] += want[cell]
			}
			if cell += 8; o.to < 0 && k == planner.Behind {
				break
			}
		}
	}
	*refused += len(plan.Refused)
	bases, at, stubs := patch(t, plan, groups, text)
	*sections += len(bases)
	for i, b := range bases {
		if err := followPushes(b, at[i]); err != nil {
			return err
		}
	}
	after, got := r.run(t, funcAt, regs, text, data, stubs...)
	if after != plain {
		return fmt.Errorf("registers %x, without trampolines %x\ncode % x\nplan %+v", after, plain, code, groups)
	}
	for c, w := range want {
		if g := binary.LittleEndian.Uint64(block(got, nativeGeometry.Slot(r.self))[c:]); g != w {
			return fmt.Errorf("cell %d counts %d, the processor %d\ncode % x\ngroups %+v", c, g, w, code, groups)
		}
	}
	return shut(t, r, s, text, regs, data, plain, bases, at, stubs)
}

// sameWhereUsed checks that sites in use are still there and serve what they served.
func sameWhereUsed(before, after *planner.Plan, used map[*planner.Site]bool) error {
	for _, s := range before.Sites {
		if used[s] && !slices.Contains(after.Sites, s) {
			return fmt.Errorf("the site at %#x was in use and is gone", s.Addr)
		}
	}
	return nil
}

// chosen are some points of a program.
func chosen(rng *rand.Rand, ops []op, starts []uint64) (points []planner.Point) {
	for i, o := range ops {
		if rng.IntN(4) == 0 {
			points = append(points, planner.Point{Kind: planner.Before, Addr: starts[i]})
		}
		if rng.IntN(6) == 0 && i+1 < len(ops) {
			points = append(points, planner.Point{Kind: planner.Behind, Addr: starts[i]})
		}
		if o.to >= 0 && rng.IntN(2) == 0 {
			points = append(points, planner.Point{Kind: planner.Taken, Addr: starts[i]})
		}
	}
	return points
}
