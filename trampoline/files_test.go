package trampoline

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"culprit/trampoline/planner"
)

// fewFiles is how many descriptors of the table the test fills.
const fewFiles = 8

// openFiles is the slow twin of the table.
type openFiles [fewFiles]uint64

// word is that of a descriptor; nil where it has none. An int has no defined upper half.
func (o *openFiles) word(fd uint64) *uint64 {
	if i := uint32(fd); i < fewFiles {
		return &o[i]
	}
	return nil
}

func (o *openFiles) eval(e *Expr, regs registers) uint64 {
	switch e.Op {
	case ExConst:
		return uint64(e.Value)
	case ExArg:
		return regs[argRegs[e.Value]]
	case ExFile:
		if w := o.word(o.eval(e.L, regs)); w != nil {
			return *w & 0xffffffff
		}
		return 0
	}
	file := uint64(0)
	if e.R != nil {
		file = o.eval(e.R, regs)
	}
	if w := o.word(o.eval(e.L, regs)); w != nil {
		*w = Renewed(*w, uint32(file))
	}
	return 0
}

// someFD is a descriptor: one of the table, often with something in the upper half, or one that it has no room for.
func someFD(rng *rand.Rand) uint64 {
	switch rng.IntN(4) {
	case 0:
		return []uint64{MaxDescriptors, 1 << 31, ^uint64(0), 0xffffffff, MaxDescriptors + 3}[rng.IntN(5)]
	case 1:
		return rng.Uint64()<<32 | rng.Uint64N(fewFiles)
	}
	return rng.Uint64N(fewFiles)
}

// fileExpr asks for a descriptor's file, or changes it.
func fileExpr(rng *rand.Rand, op ExprOp) *Expr {
	e := &Expr{Op: op, L: &Expr{Op: ExArg, Value: rng.Int64N(6)}}
	if rng.IntN(4) == 0 {
		e.L = &Expr{Op: ExConst, Value: int64(someFD(rng))}
	}
	switch {
	case op == ExFile || rng.IntN(3) == 0:
	case rng.IntN(2) == 0:
		e.R = &Expr{Op: ExConst, Value: rng.Int64()}
	default:
		e.R = fileExpr(rng, ExFile)
	}
	return e
}

// TestOpenFiles runs probes that ask and change what descriptors stand for against the twin.
func TestOpenFiles(t *testing.T) {
	r := startRunner(t)
	rounds := 300
	if *long {
		rounds = 20000
	}
	rng := rand.New(rand.NewPCG(3, 4))
	known, renewed := 0, 0
	for range rounds {
		s, _ := calling("direct", nil)
		entry := planner.Point{Kind: planner.FuncEntry, Addr: funcAt}
		plan := planner.MakePlan(s.body(), []planner.Point{entry})
		if site, refusal := plan.SiteOf(entry); site == nil {
			t.Fatal(refusal)
		}
		var regs registers
		for i := range regs {
			regs[i] = someFD(rng)
		}
		data := make([]byte, dataSize+fewFiles*WordSize)
		var twin openFiles
		for i := range twin {
			twin[i] = rng.Uint64() >> (32 * rng.IntN(2))
			binary.LittleEndian.PutUint64(data[dataSize+8*i:], twin[i])
		}
		binary.LittleEndian.PutUint64(block(data, nativeGeometry.Slot(r.self)), r.self)
		before := twin
		var minis []Mini
		var want []uint64
		for i := range 1 + rng.IntN(6) {
			if rng.IntN(2) == 0 {
				e := fileExpr(rng, ExRenew)
				minis = append(minis, Mini{Op: Do, Expr: e})
				twin.eval(e, regs)
				want = append(want, 0)
				continue
			}
			e := fileExpr(rng, ExFile)
			minis = append(minis, Mini{Op: Set, Cell: wordCell(i), Expr: e})
			want = append(want, twin.eval(e, regs))
		}
		text := s.text(t, true)
		plain, _ := r.run(t, funcAt, regs, text, data)
		_, _, stubs := patch(t, plan, map[planner.Point][]Group{entry: {{Owner: 1, Minis: minis}}}, text)
		after, got := r.run(t, funcAt, regs, text, data, stubs...)
		if after != plain {
			t.Fatalf("registers %x, without the probe %x", after, plain)
		}
		b := block(got, nativeGeometry.Slot(r.self))
		for i, w := range want {
			if v := binary.LittleEndian.Uint64(b[wordCell(i):]); v != w {
				t.Fatalf("probe %d gives %#x, the twin %#x: %+v", i, v, w, minis[i].Expr)
			}
			known += min(int(w), 1)
		}
		for i, w := range twin {
			if v := binary.LittleEndian.Uint64(got[dataSize+8*i:]); v != w {
				t.Fatalf("descriptor %d has %#x, the twin says %#x", i, v, w)
			}
		}
		if !slices.Equal(before[:], twin[:]) {
			renewed++
		}
	}
	t.Logf("%d probes, %d files known, %d tables changed", rounds, known, renewed)
	if known < rounds/4 || renewed < rounds/4 {
		t.Error("too little was tried")
	}
}

// TestNoTableOfFiles: without a table there is an error, no code.
func TestNoTableOfFiles(t *testing.T) {
	s, _ := calling("direct", nil)
	entry := planner.Point{Kind: planner.FuncEntry, Addr: funcAt}
	plan := planner.MakePlan(s.body(), []planner.Point{entry})
	site, _ := plan.SiteOf(entry)
	env := nativeEnv()
	env.FilesAddr = 0
	probe := []Group{{Owner: 1, Minis: []Mini{{Op: Do, Expr: fileExpr(rand.New(rand.NewPCG(1, 1)), ExRenew)}}}}
	if _, err := Generate(env, site, [][]Group{probe}, roomAt); err == nil {
		t.Error("code was made for a table that is not there")
	}
}
