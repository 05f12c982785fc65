package trampoline

import (
	"encoding/binary"
	"testing"

	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// TestCallee asks before calls of every form where they go.
func TestCallee(t *testing.T) {
	r := startRunner(t)
	const table = dataAt + 64 // words that hold the callee's address, and the register that points to them
	forms := []struct {
		name string
		code []byte
		regs map[x86.Reg]uint64
	}{
		{"call *%rax", []byte{0xFF, 0xD0}, map[x86.Reg]uint64{x86.RAX: calleeAt}},
		{"call *%rcx", []byte{0xFF, 0xD1}, map[x86.Reg]uint64{x86.RCX: calleeAt}},
		{"call *%r11", []byte{0x41, 0xFF, 0xD3}, map[x86.Reg]uint64{x86.R11: calleeAt}},
		{"call *(%rax)", []byte{0xFF, 0x10}, map[x86.Reg]uint64{x86.RAX: table}},
		{"call *8(%rdx)", []byte{0xFF, 0x52, 8}, map[x86.Reg]uint64{x86.RDX: table - 8}},
		{"call *0x100(%rsi)", []byte{0xFF, 0x96, 0, 1, 0, 0}, map[x86.Reg]uint64{x86.RSI: table - 0x100}},
		{"call *(%rdi,%rcx,8)", []byte{0xFF, 0x14, 0xCF}, map[x86.Reg]uint64{x86.RDI: table - 80, x86.RCX: 10}},
		{"call *(%r12)", []byte{0x41, 0xFF, 0x14, 0x24}, map[x86.Reg]uint64{x86.R12: table}},
		{"call *-8(%r13)", []byte{0x41, 0xFF, 0x55, 0xF8}, map[x86.Reg]uint64{x86.R13: table + 8}},
		{"call *0x10(%rbx,%r14,4)", []byte{0x42, 0xFF, 0x54, 0xB3, 0x10}, map[x86.Reg]uint64{x86.RBX: table - 0x10 - 16, x86.R14: 4}},
		{"call *-8(,%rdx,8)", []byte{0xFF, 0x14, 0xD5, 0xF8, 0xFF, 0xFF, 0xFF}, map[x86.Reg]uint64{x86.RDX: (table + 8) / 8}},
		{"call *table", []byte{0xFF, 0x14, 0x25, byte(table & 0xFF), table >> 8 & 0xFF, table >> 16 & 0xFF, table >> 24}, nil},
		{"call *table(%rip)", nil, nil},
		{"mov %rax,-0x30(%rsp); call *-0x30(%rsp)", []byte{0x48, 0x89, 0x44, 0x24, 0xD0, 0xFF, 0x54, 0x24, 0xD0}, map[x86.Reg]uint64{x86.RAX: calleeAt}},
		{"mov %rax,-0x200(%rsp); call *(%rsp,%rcx,8)", []byte{0x48, 0x89, 0x84, 0x24, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0x14, 0xCC}, map[x86.Reg]uint64{x86.RAX: calleeAt, x86.RCX: ^uint64(0x200/8) + 1}},
		{"direct", nil, nil},
	}
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			s, call := calling(f.name, f.code)
			plan := planner.MakePlan(s.body(), []planner.Point{{Kind: planner.CallPre, Addr: call}})
			site, refusal := plan.SiteOf(planner.Point{Kind: planner.CallPre, Addr: call})
			if site == nil {
				t.Fatal(refusal)
			}
			asks := Mini{Op: Set, Cell: wordCell(0), Expr: &Expr{Op: ExCallee}}
			counts := Mini{Op: Add, Cell: wordCell(1), Expr: &Expr{Value: 1}, Cond: &Expr{Op: ExEq, L: &Expr{Op: ExCallee}, R: &Expr{Op: ExConst, Value: calleeAt}}}
			groups := map[planner.Point][]Group{{Kind: planner.CallPre, Addr: call}: {{Owner: 1, Minis: []Mini{asks, counts}}}}
			regs := registers{}
			for i := range regs {
				regs[i] = 0x1111 * uint64(i+1)
			}
			for reg, v := range f.regs {
				regs[reg] = v
			}
			data := make([]byte, dataSize)
			binary.LittleEndian.PutUint64(data[table-dataAt:], calleeAt)
			binary.LittleEndian.PutUint64(block(data, nativeGeometry.Slot(r.self)), r.self)
			plain, _ := r.run(t, funcAt, regs, s.text(t, true), data)
			text := s.text(t, true)
			bases, at, stubs := patch(t, plan, groups, text)
			if err := followPushes(bases[0], at[0]); err != nil {
				t.Fatal(err)
			}
			after, got := r.run(t, funcAt, regs, text, data, stubs...)
			if after != plain {
				t.Errorf("registers %x, without trampolines %x", after, plain)
			}
			b := block(got, nativeGeometry.Slot(r.self))
			if to, n := binary.LittleEndian.Uint64(b[wordCell(0):]), binary.LittleEndian.Uint64(b[wordCell(1):]); to != calleeAt || n != 1 {
				t.Errorf("the call goes to %#x, counted %d; want %#x, 1", to, n, uint64(calleeAt))
			}
		})
	}
}

// calling is a function that makes one call, with room before it.
func calling(name string, code []byte) (s *sample, call uint64) {
	var a x86.Asm
	a.Init(funcAt)
	a.Nop(9)
	a.MovImm64(x86.R9, 0x0123456789ABCDEF)
	call = a.Addr()
	switch name {
	case "direct":
		d := int32(calleeAt - int64(call) - 5)
		a.Raw(0xE8, byte(d), byte(d>>8), byte(d>>16), byte(d>>24))
	case "call *table(%rip)":
		d := int32(dataAt + 64 - int64(call) - 6)
		a.Raw(0xFF, 0x15, byte(d), byte(d>>8), byte(d>>16), byte(d>>24))
	default:
		a.Raw(code...)
		for _, in := range decodeAll(code, call) {
			call = in.Addr // the last one is the call
		}
	}
	a.Ret()
	s = &sample{code: a.Bytes()}
	s.insts = decodeAll(s.code, funcAt)
	return s, call
}
