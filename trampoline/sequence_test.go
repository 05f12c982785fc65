package trampoline

import (
	"testing"

	"culprit/trampoline/x86"
)

// manyKinds is a function with instructions of most kinds, and all points that it can have.
func manyKinds(t *testing.T) (code []byte, insts []x86.Inst, points []Point) {
	code = unhex(t, "f30f1efa 55 4889e5 e800010000 85c0 7408 4883c001 c3 90 0f8410010000 488b07 ffd0 31c0 e820010000 5d c3 6690 eb04 4889d8 c3 4889d8 e940010000")
	insts = decodeAll(code, planBase)
	for _, in := range insts {
		at := in.Addr
		switch {
		case in.Flow == x86.FlowCall || in.Flow == x86.FlowCallInd:
			points = append(points, Point{CallPre, at}, Point{CallPost, in.End()})
		case in.Flow == x86.FlowRet:
			points = append(points, Point{Ret, at})
		case in.Flow == x86.FlowJump && in.RelLen == 4:
			points = append(points, Point{TailJump, at})
		case in.Flow == x86.FlowCond && in.RelLen == 4:
			points = append(points, Point{TailCond, at})
		}
		points = append(points, Point{Before, at}, Point{Behind, at}, Point{Taken, at})
	}
	return code, insts, append([]Point{{FuncEntry, planBase}}, points...)
}

// TestNothingLeadsInside: wherever something may jump to, also between the bytes of an instruction, no plan moves or changes bytes around
// that place but such as begin there.
func TestNothingLeadsInside(t *testing.T) {
	code, insts, points := manyKinds(t)
	for off := range uint64(len(code)) {
		to := planBase + off
		b := &Body{
			Insts:  insts,
			Bytes:  func(addr uint64, n int) []byte { return code[addr-planBase:][:n] },
			Target: func(addr uint64) bool { return addr == planBase || addr == to },
			PadEnd: func(addr uint64) uint64 { return addr },
		}
		inside := func(lo, hi uint64) bool { return lo < to && to < hi }
		for i := range points {
			for _, s := range MakePlan(b, []Point{points[i]}).Sites {
				if inside(s.Addr, s.End()) || s.Host != nil && inside(s.Host.Addr, s.Host.End()) {
					t.Errorf("%v: a site of kind %s at %#x, %d bytes, has a target inside at %#x", points[i], s.Tactic, s.Addr, s.Len, to)
				}
			}
		}
		for _, s := range MakePlan(b, points).Sites {
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
			b := &Body{
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
				for _, s := range MakePlan(b, []Point{points[i]}).Sites {
					checkBound(t, b, s, points[i])
				}
			}
			for _, s := range MakePlan(b, points).Sites {
				checkBound(t, b, s, Point{})
			}
		}
	}
}

func checkBound(t *testing.T, b *Body, s *Site, pt Point) {
	t.Helper()
	spans := [][2]uint64{{s.Addr, s.End()}}
	if s.Host != nil {
		spans = append(spans, [2]uint64{s.Host.Addr, s.Host.End()})
	}
	if s.Tactic != Punned { // its places are not free
		pieces, err := s.Patch(Way{s.Addr + 1<<20, s.Addr + 1<<20})
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
