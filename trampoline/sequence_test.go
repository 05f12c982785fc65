package trampoline

import (
	"testing"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// manyKinds is a function with instructions of most kinds, and all points that it can have.
func manyKinds(t *testing.T) (code []byte, insts []x86.Inst, points []planner.Point) {
	code = unhex(t, "f30f1efa 55 4889e5 e800010000 85c0 7408 4883c001 c3 90 0f8410010000 488b07 ffd0 31c0 e820010000 5d c3 6690 eb04 4889d8 c3 4889d8 e940010000")
	insts = decodeAll(code, planBase)
	for _, in := range insts {
		at := in.Addr
		switch {
		case in.Flow == x86.FlowCall || in.Flow == x86.FlowCallInd:
			points = append(points, planner.Point{Kind: planner.CallPre, Addr: at}, planner.Point{Kind: planner.CallPost, Addr: in.End()})
		case in.Flow == x86.FlowRet:
			points = append(points, planner.Point{Kind: planner.Ret, Addr: at})
		case in.Flow == x86.FlowJump && in.RelLen == 4:
			points = append(points, planner.Point{Kind: planner.TailJump, Addr: at})
		case in.Flow == x86.FlowCond && in.RelLen == 4:
			points = append(points, planner.Point{Kind: planner.TailCond, Addr: at})
		}
		points = append(points, planner.Point{Kind: planner.Before, Addr: at}, planner.Point{Kind: planner.Behind, Addr: at}, planner.Point{Kind: planner.Taken, Addr: at})
	}
	return code, insts, append([]planner.Point{{Kind: planner.FuncEntry, Addr: planBase}}, points...)
}

// TestNothingLeadsInside: wherever something may jump to, also between the bytes of an instruction, no plan moves or changes bytes around
// that place but such as begin there.
func TestNothingLeadsInside(t *testing.T) {
	code, insts, points := manyKinds(t)
	for off := range uint64(len(code)) {
		to := planBase + off
		b := &planner.Body{
			Insts:  insts,
			Bytes:  func(addr uint64, n int) []byte { return code[addr-planBase:][:n] },
			Target: func(addr uint64) bool { return addr == planBase || addr == to },
			PadEnd: func(addr uint64) uint64 { return addr },
		}
		inside := func(lo, hi uint64) bool { return lo < to && to < hi }
		for i := range points {
			for _, s := range planner.MakePlan(b, []planner.Point{points[i]}).Sites {
				if inside(s.Addr, s.End()) || s.Host != nil && inside(s.Host.Addr, s.Host.End()) {
					t.Errorf("%v: a site of kind %s at %#x, %d bytes, has a target inside at %#x", points[i], s.Tactic, s.Addr, s.Len, to)
				}
			}
		}
		for _, s := range planner.MakePlan(b, points).Sites {
			if inside(s.Addr, s.End()) || s.Host != nil && inside(s.Host.Addr, s.Host.End()) {
				t.Errorf("a site of kind %s at %#x, %d bytes, has a target inside at %#x", s.Tactic, s.Addr, s.Len, to)
			}
		}
	}
}

// TestBoundStays: whichever bytes of a function are bound to their place, no plan moves or changes any of them, by whatever way.
func TestBoundStays(t *testing.T) {
	code, insts, points := manyKinds(t)
	n := uint64(len(code))
	for lo := uint64(0); lo < n; lo++ {
		for _, length := range []uint64{1, 4, 9, n} {
			from, to := planBase+lo, planBase+lo+length
			b := &planner.Body{
				Insts:  insts,
				Bytes:  func(addr uint64, n int) []byte { return code[addr-planBase:][:n] },
				Target: func(addr uint64) bool { return addr == planBase },
				PadEnd: func(addr uint64) uint64 { return addr },
				Bound: func(lo, hi uint64) string {
					if lo < to && from < hi {
						return "bound"
					}
					return ""
				},
			}
			for i := range points {
				for _, s := range planner.MakePlan(b, []planner.Point{points[i]}).Sites {
					checkBound(t, b, s, points[i])
				}
			}
			for _, s := range planner.MakePlan(b, points).Sites {
				checkBound(t, b, s, planner.Point{})
			}
		}
	}
}

func checkBound(t *testing.T, b *planner.Body, s *planner.Site, pt planner.Point) {
	t.Helper()
	spans := [][2]uint64{{s.Addr, s.End()}}
	if s.Host != nil {
		spans = append(spans, [2]uint64{s.Host.Addr, s.Host.End()})
	}
	if s.Tactic != planner.Punned { // its places are not free
		pieces, err := s.Patch(planner.Way{Site: s.Addr + 1<<20, Host: s.Addr + 1<<20})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces {
			spans = append(spans, [2]uint64{p.Addr, p.Addr + uint64(len(p.Bytes))})
		}
	}
	for _, x := range spans {
		if b.Bound(x[0], x[1]) != "" {
			t.Errorf("%v: a site of kind %s at %#x has bytes that are bound", pt, s.Tactic, s.Addr)
		}
	}
}
