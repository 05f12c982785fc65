package trampoline

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// unhex reads code bytes; spaces are for the reader.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPlans: code bytes in, sites out. Offsets count from the beginning of the code.
func TestPlans(t *testing.T) {
	for _, c := range []struct {
		name    string
		code    string
		targets []uint64 // offsets that something may jump to
		padding uint64
		pads    bool   // whether there is padding nearby
		hidden  string // why windows are unsafe
		points  []planner.Point
		want    string // "tactic offset+length", in order of address; "kind: reason" of what is refused
	}{
		{name: "one long instruction", code: "48c7c001000000 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "single 0+7"},
		{name: "entry behind endbr64", code: "f30f1efa 48c7c001000000 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "single 4+7"},
		{name: "window", code: "55 4889e5 4883ec10 c9 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "window 0+8"},
		{name: "return with padding", code: "55 4889e5 4883ec10 c9 c3", padding: 4, points: []planner.Point{{Kind: planner.Ret, Addr: 9}}, want: "padding 9+1"},
		{name: "return without padding", code: "55 4889e5 4883ec10 c9 c3", points: []planner.Point{{Kind: planner.Ret, Addr: 9}}, want: "window 4+6"},
		{name: "entry and return of a short function", code: "55 4889e5 c9 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}, {Kind: planner.Ret, Addr: 5}}, want: "window 0+6"},
		{name: "call", code: "e8 00100000 c3", points: []planner.Point{{Kind: planner.CallPre, Addr: 0}}, want: "retarget 0+5"},
		{name: "tail jump", code: "55 5d e9 00100000", points: []planner.Point{{Kind: planner.TailJump, Addr: 2}}, want: "retarget 2+5"},
		{name: "conditional tail jump", code: "4885ff 0f84 00100000 c3", points: []planner.Point{{Kind: planner.TailCond, Addr: 3}}, want: "retarget 3+6"},
		{name: "behind a call", code: "e8 00100000 4883c408 5b c3", points: []planner.Point{{Kind: planner.CallPost, Addr: 5}}, want: "window 5+5"},
		{name: "behind a call that another follows", code: "e8 00100000 e8 00100000 c3", points: []planner.Point{{Kind: planner.CallPre, Addr: 0}, {Kind: planner.CallPost, Addr: 5}, {Kind: planner.CallPre, Addr: 5}}, want: "retarget 0+5, retarget 5+5"},
		{name: "behind a call, the next one soon", code: "e8 00100000 4889c7 e8 00100000 c3", points: []planner.Point{{Kind: planner.CallPost, Addr: 5}}, want: "retarget 8+5"},
		{name: "behind a call, the next one perhaps", code: "e8 00100000 7400 89c7 e8 00100000 c3", points: []planner.Point{{Kind: planner.CallPost, Addr: 5}}, want: "behind call: a call would have to move, and its return address with it"},
		{name: "behind a call, the next one jumped to", code: "e8 00100000 4889c7 e8 00100000 c3", targets: []uint64{8}, points: []planner.Point{{Kind: planner.CallPost, Addr: 5}},
			want: "behind call: a call would have to move, and its return address with it"},
		{name: "a jump of two bytes, reached from before it", code: "c745f400000000 eb01 90 c3", points: []planner.Point{{Kind: planner.Taken, Addr: 7}}, want: "window 0+9"},
		{name: "both ways of a branch, padding nearby", code: "83c601 39f7 7502 ba05000000 c3", targets: []uint64{7}, pads: true,
			points: []planner.Point{{Kind: planner.Behind, Addr: 5}, {Kind: planner.Taken, Addr: 5}}, want: "window 0+7"},
		{name: "before an indirect call", code: "4889df 4889c6 ffd0 c3", points: []planner.Point{{Kind: planner.CallPre, Addr: 6}}, want: "window 0+6"},
		{name: "call to the next instruction", code: "e8 00000000 5b c3", points: []planner.Point{{Kind: planner.CallPre, Addr: 0}}, want: "call: there is no room before it"},
		{name: "something jumps into the entry", code: "55 4889e5 4883ec10 c9 c3", targets: []uint64{1}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "punned 0+1"},
		{name: "and into what follows", code: "55 4889e5 4883ec10 c9 c3", targets: []uint64{1, 4}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}},
			want: "entry: something may jump into the bytes that a jump needs"},
		{name: "a jump over a lock prefix", code: "f0830701 8b07 c3", targets: []uint64{1}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}, {Kind: planner.Ret, Addr: 6}},
			want: "entry: something may jump into the middle of an instruction that would have to change, return: something may jump into the middle of an instruction that would have to change"},
		{name: "a jump into a long instruction", code: "48c7c001000000 c3", targets: []uint64{3}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}},
			want: "entry: something may jump into the middle of an instruction that would have to change"},
		{name: "a return that is jumped over", code: "4885ff c3 4889e5 4883ec10 c9 c3", targets: []uint64{3, 4}, points: []planner.Point{{Kind: planner.Ret, Addr: 3}}, want: "punned 3+1"},
		{name: "instructions nearby make room", code: "4889e5 c3 4889e5 4883ec10 4883c410 4889e5 c3", targets: []uint64{0, 3, 4}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "evicted 0+3"},
		{name: "not where they may be jumped into", code: "4889e5 c3 4889e5 4883ec10 4883c410 4889e5 c3", targets: []uint64{0, 3, 4, 7, 11, 15}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}},
			want: "entry: something may jump into the bytes that a jump needs"},
		{name: "the same with padding nearby", code: "50 55 4889e5 4883ec10 c9 c3", targets: []uint64{2}, pads: true, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "island 0+2"},
		{name: "jumps that are not known", code: "55 4889e5 4883ec10 c9 c3", hidden: "a jump table", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "entry: a jump table"},
		{name: "a single instruction needs no window", code: "48c7c001000000 c3", hidden: "a jump table", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "single 0+7"},
		{name: "too short", code: "c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "entry: the function is too short for a jump"},
		{name: "too short, but padded", code: "c3", padding: 15, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}, {Kind: planner.Ret, Addr: 0}}, want: "padding 0+1"},
		{name: "too short, padding nearby", code: "90 c3", pads: true, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "island 0+2"},
		{name: "a call is retargeted together with the entry", code: "50 e8 00100000 58 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "punned 0+1"},
		{name: "two bytes before a call", code: "50 50 e8 00100000 58 58 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "punned 0+2"},
		{name: "three bytes before a call", code: "4889e5 e8 00100000 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "punned 0+3"},
		{name: "four bytes before a call", code: "4883ec08 e8 00100000 4883c408 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "punned 0+4"},
		{name: "and the point before that call", code: "4883ec08 e8 00100000 4883c408 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}, {Kind: planner.CallPre, Addr: 4}}, want: "punned 0+4"},
		{name: "but not if something may jump there", code: "4883ec08 e8 00100000 4883c408 c3", targets: []uint64{4}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}, {Kind: planner.CallPre, Addr: 4}},
			want: "punned 0+4, call: it overlaps another point that has no room of its own: measure one of the two at a time"},
		{name: "four bytes in two instructions", code: "53 4889fb e8 00100000 5b c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "punned 0+4"},
		{name: "unless something may jump between them", code: "53 4889fb e8 00100000 5b c3", targets: []uint64{1}, points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}},
			want: "entry: something may jump into the bytes that a jump needs"},
		{name: "four bytes before an indirect call", code: "4883ec08 ffd7 4883c408 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}},
			want: "entry: a call would have to move, and its return address with it"},
		{name: "jumps that are not known, two instructions", code: "53 4889fb e8 00100000 5b c3", hidden: "a jump table", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "entry: a jump table"},
		{name: "jumps that are not known, one instruction", code: "4883ec08 e8 00100000 4883c408 c3", hidden: "a jump table", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "punned 0+4"},
		{name: "a function that begins with a call", code: "e8 00100000 48ffc0 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}, {Kind: planner.CallPre, Addr: 0}}, want: "retarget 0+5"},
		{name: "a short tail jump that is jumped to", code: "4885ff eb70 4885f6 4885f6 c3", targets: []uint64{3, 5}, points: []planner.Point{{Kind: planner.TailJump, Addr: 3}}, want: "punned 3+2"},
		{name: "a call may not move", code: "50 ffd0 58 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "entry: a call would have to move, and its return address with it"},
		{name: "a system call may not move", code: "50 0f05 58 c3", points: []planner.Point{{Kind: planner.FuncEntry, Addr: 0}}, want: "entry: a system call would have to move"},
		{name: "no instruction there", code: "48c7c001000000 c3", points: []planner.Point{{Kind: planner.Ret, Addr: 3}}, want: "return: its address is not the start of an instruction that was decoded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := describePlan(t, c.code, c.targets, c.padding, c.pads, c.hidden, c.points); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

const planBase = 0x401000

func describePlan(t *testing.T, code string, targets []uint64, padding uint64, pads bool, hidden string, points []planner.Point) string {
	s := unhex(t, code)
	b := &planner.Body{
		Insts:  decodeAll(s, planBase),
		Bytes:  func(addr uint64, n int) []byte { return s[addr-planBase:][:n] },
		Target: func(addr uint64) bool { return containsOffset(targets, addr-planBase) },
		PadEnd: func(addr uint64) uint64 {
			if addr == planBase+uint64(len(s)) {
				return addr + padding
			}
			return addr
		},
		Hidden: hidden,
	}
	if pads {
		b.Pads = func(uint64) []planner.Pad { return []planner.Pad{{Addr: planBase + 0x60, Len: planner.JumpLen}} }
	}
	var at []planner.Point
	for _, p := range points {
		at = append(at, planner.Point{Kind: p.Kind, Addr: p.Addr + planBase})
	}
	plan := planner.MakePlan(b, at)
	var out []string
	for _, site := range plan.Sites {
		out = append(out, fmt.Sprintf("%s %d+%d", site.Tactic, site.Addr-planBase, site.Len))
	}
	for _, r := range plan.Refused {
		out = append(out, r.Point.Kind.String()+": "+r.Reason)
	}
	return strings.Join(out, ", ")
}

func containsOffset(list []uint64, v uint64) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

// TestPageCrossing: a jump that would have to be written in two pages cannot be written at once.
func TestPageCrossing(t *testing.T) {
	code := unhex(t, "48c7c001000000 c3")
	at := uint64(0x402000 - 3)
	b := &planner.Body{Insts: decodeAll(code, at), Bytes: func(addr uint64, n int) []byte { return code[addr-at:][:n] }, Target: func(uint64) bool { return false }, PadEnd: func(a uint64) uint64 { return a }}
	plan := planner.MakePlan(b, []planner.Point{{Kind: planner.FuncEntry, Addr: at}})
	if len(plan.Sites) != 0 || len(plan.Refused) != 1 || !strings.Contains(plan.Refused[0].Reason, "cross a page") {
		t.Errorf("%+v", plan)
	}
}

// TestAroundPages: where the usual jump would lie in two pages, another one is found that does not.
func TestAroundPages(t *testing.T) {
	for _, c := range []struct {
		name, code string
		before     uint64        // bytes of the code in the first page
		point      planner.Point // its address is an offset in the code
		pads       bool
		want       string
	}{
		{name: "entry by padding nearby", code: "48c7c001000000 c3", before: 3, point: planner.Point{Kind: planner.FuncEntry, Addr: 0}, pads: true, want: "island 0+7"},
		{name: "not by instructions nearby in the next page", code: "48c7c001000000 48c7c001000000 48c7c001000000 c3", before: 3, point: planner.Point{Kind: planner.FuncEntry, Addr: 0}, want: planner.Crossing},
		{name: "no way for the last byte of a page", code: "48c7c001000000 48c7c001000000 48c7c001000000 c3", before: 1, point: planner.Point{Kind: planner.FuncEntry, Addr: 0}, want: planner.Crossing},
		{name: "tail jump from further up", code: "4889e5 4889e5 e9 00100000", before: 9, point: planner.Point{Kind: planner.TailJump, Addr: 6}, want: "window 3+8"},
		{name: "conditional tail jump from further up", code: "4889e5 4889e5 0f84 00100000 c3", before: 10, point: planner.Point{Kind: planner.TailCond, Addr: 6}, want: "window 3+9"},
		{name: "return from further up", code: "4889e5 4889e5 4889e5 5d c3", before: 8, point: planner.Point{Kind: planner.Ret, Addr: 10}, want: "window 3+8"},
		{name: "call from further up", code: "4889e5 4889e5 e8 00100000 c3", before: 8, point: planner.Point{Kind: planner.CallPre, Addr: 6}, want: "window 0+6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, at := unhex(t, c.code), 0x402000-c.before
			b := &planner.Body{Insts: decodeAll(code, at), Bytes: func(addr uint64, n int) []byte { return code[addr-at:][:n] },
				Target: func(addr uint64) bool { return addr == at }, PadEnd: func(a uint64) uint64 { return a }}
			if c.pads {
				b.Pads = func(uint64) []planner.Pad { return []planner.Pad{{Addr: at - 0x20, Len: planner.JumpLen}} }
			}
			c.point.Addr += at
			plan := planner.MakePlan(b, []planner.Point{c.point})
			got := ""
			for _, r := range plan.Refused {
				got += r.Reason
			}
			for _, s := range plan.Sites {
				got += fmt.Sprintf("%s %d+%d", s.Tactic, s.Addr-at, s.Len)
				pieces, err := s.Patch(wayOf(t, s))
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range pieces {
					if planner.InTwoPages(p.Addr, len(p.Bytes)) {
						t.Errorf("a piece lies in two pages: %#x, % x", p.Addr, p.Bytes)
					}
				}
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestPunnedBytes: what is written at a punned site decodes as two branches to the two stubs, wherever memory for them begins.
func TestPunnedBytes(t *testing.T) {
	for _, text := range []string{"50 e8 00100000", "5050 e8 00100000", "4889e5 e8 00100000", "4883ec08 e8 00100000",
		"50 4889e5 4889e5", "5050 48c7c001000000", "505050 48c7c001000000", "50505050 48c7c001000000"} {
		code := unhex(t, text)
		for n := range uint64(150) {
			at := planBase + n*0x12345677&^0xfff + 0x10
			insts := decodeAll(code, at)
			k := len(insts) - 1
			if insts[k-1].Len == 3 && insts[k].Len == 3 {
				k--
			}
			s := &planner.Site{Tactic: planner.Punned, Addr: at, Len: int(insts[k].Addr - at), Insts: insts[:k], Host: &planner.Host{Addr: insts[k].Addr, Insts: insts[k:]}}
			from := at - 0x40000000 + n*0x1000003
			first := s.FirstPunStub(from)
			second, ok := s.PunStub(first, from)
			if !ok || first < from || second < from || first-from >= 1<<24 || second-from >= 1<<24 {
				t.Fatalf("%s at %#x: stubs at %#x and %#x, wanted from %#x on", text, at, first, second, from)
			}
			if s.FirstPunStub(first) != first {
				t.Fatalf("%s at %#x: a place that fits is not taken", text, at)
			}
			if again, _ := s.PunStub(first, second); again != second {
				t.Fatalf("%s at %#x: a place that fits is not taken", text, at)
			}
			pieces, err := s.Patch(planner.Way{Site: first, Host: second})
			if err != nil || len(pieces) != 1 || len(pieces[0].Bytes) != s.Len+planner.JumpLen || pieces[0].Addr != at {
				t.Fatalf("%s at %#x: %+v, %v", text, at, pieces, err)
			}
			own, err1 := x86.Decode(pieces[0].Bytes, at)
			behind, err2 := x86.Decode(pieces[0].Bytes[s.Len:], at+uint64(s.Len))
			if err1 != nil || err2 != nil || own.Flow != x86.FlowJump || own.Target != first || behind.Target != second || behind.Len != planner.JumpLen || (behind.Flow == x86.FlowCall) != (s.Host.Call() != 0) {
				t.Fatalf("%s at %#x: % x: %+v, %+v", text, at, pieces[0].Bytes, own, behind)
			}
			if _, err := s.Patch(planner.Way{Site: first + 1<<(8*s.Dictated()), Host: second}); err == nil {
				t.Fatalf("%s at %#x: another stub is taken", text, at)
			}
		}
	}
}

// TestPlansAreDisjoint: sites of one plan share no bytes, hold whole instructions, and every point is served or refused.
func TestPlansAreDisjoint(t *testing.T) {
	for seed := range uint64(3000) {
		s := makeSample(rand.New(rand.NewPCG(seed, 3)))
		plan := planner.MakePlan(s.body(), s.points)
		end := uint64(0)
		for _, site := range plan.Sites {
			if site.Addr < end || site.Len != len(site.Code) || site.Insts[0].Addr != site.Addr || site.Insts[len(site.Insts)-1].End() != site.End() {
				t.Fatalf("seed %d: %+v", seed, site)
			}
			end = site.End()
			if err := hostIsFree(plan, site); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			pieces, err := site.Patch(wayOf(t, site))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range pieces {
				if p.Addr/PageSize != (p.Addr+uint64(len(p.Bytes))-1)/PageSize {
					t.Fatalf("seed %d: a piece crosses a page: %+v", seed, p)
				}
				if site.Interior(p.Addr) {
					t.Fatalf("seed %d: a piece begins inside its site", seed)
				}
			}
		}
		for _, p := range s.points {
			site, refusal := plan.SiteOf(p)
			if (site == nil) == (refusal == nil) {
				t.Fatalf("seed %d: point %+v: %v, %v", seed, p, site, refusal)
			}
		}
	}
}

// hostIsFree checks that the instructions that make room for a site belong to no site.
func hostIsFree(plan *planner.Plan, site *planner.Site) error {
	h := site.Host
	if h == nil {
		return nil
	}
	if h.Len < planner.JumpLen || site.Tactic == planner.Evicted && h.Len < planner.HostLen || len(h.Code) != h.Len || h.Insts[0].Addr != h.Addr || h.Insts[len(h.Insts)-1].End() != h.End() {
		return fmt.Errorf("host %+v", h)
	}
	for _, o := range plan.Sites {
		if o.Addr < h.End() && h.Addr < o.End() || o.Host != nil && o != site && o.Host.Addr < h.End() && h.Addr < o.Host.End() {
			return fmt.Errorf("a host at %#x overlaps %+v", h.Addr, o)
		}
	}
	return nil
}

// TestSpans decodes base trampolines and follows what their own instructions push: a stack walk from inside must take away
// exactly that, at every instruction.
func TestSpans(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		s := makeSample(rng)
		plan := planner.MakePlan(s.body(), s.points)
		groups := makeGroups(rng, plan, s.points)
		bases, at, _ := patch(t, plan, groups, s.text(t, true))
		for i, b := range bases {
			if err := followPushes(b, at[i]); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// followPushes goes through the code from its first byte to its last. Behind a jump that is always taken the span says with what
// somebody comes there; whoever jumps inside the code comes with as much as the span says of where it leads. The sample's own
// instructions push nothing.
func followPushes(b *Base, at uint64) error {
	pushed, covered, known := 0, 0, false
	for _, in := range decodeAll(b.Code, at) {
		off := int(in.Addr - at)
		sp, ok := b.SpanAt(off)
		if !ok {
			return fmt.Errorf("offset %#x is in no span", off)
		}
		if !known {
			pushed = sp.Pushed
		}
		if sp.Pushed != pushed {
			return fmt.Errorf("offset %#x: %d bytes pushed, the span says %d", off, pushed, sp.Pushed)
		}
		pushed += stackEffect(in, b.Code[off:off+in.Len])
		covered += in.Len
		if to, ok := b.SpanAt(int(in.Target - at)); ok && in.RelLen != 0 && to.Pushed != pushed {
			return fmt.Errorf("offset %#x: leads with %d bytes pushed to where the span says %d", off, pushed, to.Pushed)
		}
		known = in.Flow != x86.FlowJump && in.Flow != x86.FlowRet
		if !known && in.Target-at >= uint64(len(b.Code)) && pushed != 0 && in.Target != slowAt && in.Target != callAt {
			return fmt.Errorf("offset %#x: leaves with %d bytes on the stack", off, pushed)
		}
	}
	if covered != len(b.Code) {
		return fmt.Errorf("%d bytes of %d are code", covered, len(b.Code))
	}
	return nil
}

// stackEffect is by how much an instruction lowers the stack pointer.
func stackEffect(in x86.Inst, code []byte) int {
	op := code[in.OpOff]
	switch {
	case in.Opcode>>8 == 0 && op >= 0x50 && op < 0x58:
		return 8
	case in.Opcode>>8 == 0 && op >= 0x58 && op < 0x60:
		return -8
	case op == 0x8D && code[0] == 0x48 && in.ModRM == 0x64 && code[len(code)-2] == 0x24: // lea disp8(%rsp), %rsp
		return -int(int8(code[len(code)-1]))
	case op == 0x8D && code[0] == 0x48 && in.ModRM == 0xA4 && code[len(code)-5] == 0x24: // lea disp32(%rsp), %rsp
		return -int(int32(binary.LittleEndian.Uint32(code[len(code)-4:])))
	}
	return 0
}

// wayOf is a way into a trampoline of the site that Patch accepts.
func wayOf(t testing.TB, s *planner.Site) planner.Way {
	t.Helper()
	if s.Tactic != planner.Punned {
		return planner.Way{Site: roomAt, Host: roomAt + 64}
	}
	at := s.FirstPunStub(roomAt)
	second, ok := s.PunStub(at, roomAt)
	if !ok || at-roomAt >= 1<<(8*(s.Dictated()+1)) || second-roomAt >= 1<<(8*(3-s.Dictated())) {
		t.Fatalf("no stub at %#x and %#x fits %+v", at, second, s)
	}
	return planner.Way{Site: at, Host: second}
}
