package trampoline

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// planOf plans the points (offsets from planBase) of code in which nothing jumps, but to its beginning.
func planOf(t *testing.T, code string, points ...planner.Point) *planner.Plan {
	t.Helper()
	s := unhex(t, code)
	b := &planner.Body{
		Insts:  decodeAll(s, planBase),
		Bytes:  func(addr uint64, n int) []byte { return s[addr-planBase:][:n] },
		Target: func(addr uint64) bool { return addr == planBase },
		PadEnd: func(addr uint64) uint64 { return addr },
	}
	var at []planner.Point
	for _, p := range points {
		at = append(at, planner.Point{Kind: p.Kind, Addr: p.Addr + planBase})
	}
	return planner.MakePlan(b, at)
}

// siteOf is the only site of planOf.
func siteOf(t *testing.T, code string, points ...planner.Point) *planner.Site {
	t.Helper()
	plan := planOf(t, code, points...)
	if len(plan.Sites) != 1 || len(plan.Refused) != 0 {
		t.Fatalf("%d sites, refused %v", len(plan.Sites), plan.Refused)
	}
	return plan.Sites[0]
}

// TestGenerateRefuses: what cannot be generated is an error that says why, whatever part of a mini it is in, and at every kind
// of mark.
func TestGenerateRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	deepest, deeper := deep(rng, planner.Ret, MaxExprDepth), deep(rng, planner.Ret, MaxExprDepth+1)
	argument := &Expr{Op: ExArg, Value: 6}
	equal := &Expr{Op: ExEq, L: argument, R: &Expr{Op: ExConst, Value: 1}}
	one := &Expr{Op: ExConst, Value: 1}
	marks := []struct {
		name, code string
		point      planner.Point
	}{
		{"entry", "48c7c001000000 c3", planner.Point{Kind: planner.FuncEntry, Addr: 0}},
		{"retargeted branch", "4885ff 0f84 00100000 c3", planner.Point{Kind: planner.TailCond, Addr: 3}},
		{"moved branch", "4885ff 7480 c3", planner.Point{Kind: planner.TailCond, Addr: 3}},
	}
	for _, c := range []struct {
		name string
		mini Mini
		want string
	}{
		{"deep enough", Mini{Op: Add, Cell: 64, Expr: deepest}, ""},
		{"too deep to add", Mini{Op: Add, Cell: 64, Expr: deeper}, "nested more than 8 deep"},
		{"too deep below minus", Mini{Op: Set, Cell: 64, Expr: &Expr{Op: ExNeg, L: deepest}}, "nested more than 8 deep"},
		{"too deep as a condition", Mini{Op: Add, Cell: 64, Expr: one, Cond: deeper}, "nested more than 8 deep"},
		{"argument on the stack", Mini{Op: Set, Cell: 64, Expr: argument}, "argument 6 is not in a register"},
		{"argument on the stack, left", Mini{Op: Set, Cell: 64, Expr: &Expr{Op: ExAdd, L: argument, R: one}}, "argument 6 is not in a register"},
		{"argument on the stack, right", Mini{Op: Set, Cell: 64, Expr: &Expr{Op: ExAdd, L: one, R: argument}}, "argument 6 is not in a register"},
		{"argument on the stack, compared", Mini{Op: FlagEnter, Cell: 64, Cond: equal}, "argument 6 is not in a register"},
		{"negative argument", Mini{Op: Set, Cell: 64, Expr: &Expr{Op: ExArg, Value: -1}}, "argument -1 is not in a register"},
	} {
		for _, m := range marks {
			s := siteOf(t, m.code, m.point)
			_, err := Generate(nativeEnv(), s, [][]Group{{{Owner: 1, Minis: []Mini{c.mini}}}}, planBase+0x10000)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s at %s: %v, want %q", c.name, m.name, err, c.want)
			}
		}
	}
}

// TestGenerateOutOfReach: a trampoline that its code or its island cannot be reached from is refused, not cut off.
func TestGenerateOutOfReach(t *testing.T) {
	add := []Group{{Owner: 1, Minis: []Mini{{Op: Add, Cell: 64, Expr: &Expr{Value: 1}}}}}
	const far = planBase + 3<<30
	for _, c := range []struct {
		name, code string
		point      planner.Point
		addr       uint64
		env        func(e *Env)
	}{
		{"displaced operand", "488b0500000000 c3", planner.Point{Kind: planner.FuncEntry, Addr: 0}, far, nil},
		{"way back", "48c7c001000000 c3", planner.Point{Kind: planner.FuncEntry, Addr: 0}, far, nil},
		{"retargeted call", "e8 00100000 c3", planner.Point{Kind: planner.CallPre, Addr: 0}, far, nil},
		{"moved branch", "4885ff 7480 c3", planner.Point{Kind: planner.TailCond, Addr: 3}, far, nil},
		{"stub of the island", "48c7c001000000 c3", planner.Point{Kind: planner.FuncEntry, Addr: 0}, planBase + 0x10000, func(e *Env) { e.SlowAddr = far }},
	} {
		s := siteOf(t, c.code, c.point)
		env := nativeEnv()
		if c.env != nil {
			c.env(env)
		}
		_, err := Generate(env, s, [][]Group{add}, c.addr)
		var reach *x86.RangeError
		if !errors.As(err, &reach) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestPatchOutOfReach: no tactic writes a jump that does not reach.
func TestPatchOutOfReach(t *testing.T) {
	for tactic, s := range sitesByTactic(t) {
		w := wayOf(t, s)
		if _, err := s.Patch(w); err != nil {
			t.Errorf("%s: %v", tactic, err)
		}
		if _, err := s.Patch(planner.Way{Site: w.Site + 4<<30, Host: w.Host}); err == nil {
			t.Errorf("%s: a trampoline 4 GiB away is reached", tactic)
		}
		if _, err := s.Patch(planner.Way{Site: w.Site, Host: w.Host + 4<<30}); (err == nil) != (s.Host == nil) {
			t.Errorf("%s: the place of its host 4 GiB away: %v", tactic, err)
		}
		lo, hi, ok := s.Landing()
		if ok != (tactic == planner.Short || tactic == planner.Evicted) || ok && hi != lo+planner.JumpLen {
			t.Errorf("%s: a short jump leads to [%#x, %#x), %v", tactic, lo, hi, ok)
		}
	}
	s := sitesByTactic(t)[planner.Short]
	s.Pad.Addr += 1 << 10
	if _, err := s.Patch(wayOf(t, s)); err == nil || !strings.Contains(err.Error(), "too far") {
		t.Errorf("a short jump to padding 1 KiB away: %v", err)
	}
}

// sitesByTactic is a site of every tactic.
func sitesByTactic(t *testing.T) map[planner.Tactic]*planner.Site {
	t.Helper()
	all := map[planner.Tactic]*planner.Site{}
	for seed := range uint64(10_000) {
		p := makeProgram(rand.New(rand.NewPCG(seed, 5)))
		for _, s := range planner.MakePlan(p.body(), p.points).Sites {
			if all[s.Tactic] == nil {
				all[s.Tactic] = s
			}
		}
	}
	if len(all) != 7 {
		t.Fatalf("only %d tactics", len(all))
	}
	return all
}

// TestPlansRefuse: each reason for which a point has no site.
func TestPlansRefuse(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"system call behind the entry", "50 0f05 58 5b 5d c3", "a system call would have to move"},
		{"end behind the entry", "50 0f0b 58 5b 5d c3", "an instruction that does not go on would have to move"},
		{"own address read behind the entry", "50 67488b0500000000 c3", "an instruction that reads its own address would have to move"},
	} {
		plan := planOf(t, c.code, planner.Point{Kind: planner.FuncEntry, Addr: 0})
		if len(plan.Refused) != 1 || plan.Refused[0].Reason != c.want {
			t.Errorf("%s: %+v", c.name, plan)
			continue
		}
		if got, want := plan.Refused[0].Error(), "entry at 0x401000: "+c.want; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	plan := planOf(t, "48c7c001000000 c3", planner.Point{Kind: planner.FuncEntry, Addr: 0})
	if s, r := plan.SiteOf(planner.Point{Kind: planner.Ret, Addr: planBase + 7}); s != nil || r == nil || !strings.Contains(r.Error(), "no such point") {
		t.Errorf("a point that was not asked for: %v, %v", s, r)
	}
}

// TestSpanAt: outside the code there is no span.
func TestSpanAt(t *testing.T) {
	s := siteOf(t, "48c7c001000000 c3", planner.Point{Kind: planner.FuncEntry, Addr: 0})
	b, err := Generate(nativeEnv(), s, [][]Group{{{Owner: 1, Minis: []Mini{{Op: Set, Cell: 64, Expr: &Expr{Value: 1}}}}}}, planBase+0x10000)
	if err != nil {
		t.Fatal(err)
	}
	for off := range len(b.Code) {
		if _, ok := b.SpanAt(off); !ok {
			t.Errorf("offset %#x is in no span", off)
		}
	}
	for _, off := range []int{-1, len(b.Code)} {
		if _, ok := b.SpanAt(off); ok {
			t.Errorf("offset %#x is in a span", off)
		}
	}
}

// TestSegmentParts: the parts of a segment lie behind each other, on pages of their own, and are as large as they must be.
func TestSegmentParts(t *testing.T) {
	for _, threads := range []int{1, 1000, 1 << 20} {
		g := DefaultGeometry(threads)
		parts := []int{0, g.LedgerOff(), g.CodeOff(), g.Size()}
		need := []int{PageSize, g.LedgerCap * EntrySize, g.CodeSize}
		for i, n := range need {
			if parts[i]%PageSize != 0 || parts[i+1]-parts[i] < n {
				t.Errorf("%d threads: part %d at %#x, %#x bytes, the next at %#x", threads, i, parts[i], n, parts[i+1])
			}
		}
		if g.Slots&(g.Slots-1) != 0 || g.Slots < min(4*threads, 1<<16) || g.DataSize() != (g.Slots+1)*g.BlockSize || g.Stride() < g.DataSize() || g.Stride()%PageSize != 0 {
			t.Errorf("%d threads: %+v", threads, g)
		}
	}
}
