package x86

import (
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const decodeBase = 0x400000

// TestDecode holds single instructions that decoders are known to get wrong, and every class of Flow.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		hex  string // the instruction and, after /, bytes behind it that must not be swallowed
		name string
		want Inst // Len is taken from hex; zero fields of Inst other than the listed ones are not looked at
	}{
		{"c5f877/c3", "vzeroupper", Inst{}},
		{"c5fc77/9090", "vzeroall", Inst{}},
		{"f30f1efa/c3", "endbr64", Inst{Endbr: true}},
		{"f3480f1ec8", "rdsspq", Inst{}},
		{"66480f38f6c3", "adcx", Inst{}},
		{"f3480fc7f8", "rdpid", Inst{}},
		{"0fc7f8", "rdseed", Inst{}},
		{"0f01ee", "rdpkru", Inst{}},
		{"90", "nop", Inst{Nop: true}},
		{"6690", "xchg ax,ax", Inst{Nop: true}},
		{"4890", "rex.W nop", Inst{Nop: true}},
		{"4190", "xchg eax,r8d", Inst{}},
		{"f390", "pause", Inst{}},
		{"0f1f00", "nopl", Inst{Nop: true}},
		{"66662e0f1f840000000000", "data16 cs nopw", Inst{Nop: true}},
		{"48b88877665544332211", "movabs", Inst{}},
		{"48a18877665544332211", "movabs moffs64", Inst{}},
		{"67a144332211", "mov moffs32", Inst{}},
		{"66b83412", "mov imm16", Inst{}},
		{"6648b83412000000000000", "mov imm64 under 66", Inst{}},
		{"66c7003412", "movw imm16", Inst{}},
		{"f6c001", "test imm8", Inst{}},
		{"f6d0", "not", Inst{}},
		{"66f7c03412", "test imm16", Inst{}},
		{"f7d8", "neg", Inst{}},
		{"c8100001", "enter", Inst{}},
		{"0f70c01b", "pshufw", Inst{}},
		{"0f73d004/90", "psrlq imm8", Inst{}},
		{"660f78c00102", "extrq", Inst{}},
		{"f20f78c10102", "insertq", Inst{}},
		{"0fba6001ff", "bt imm8", Inst{}},
		{"c4e3fd00c04e", "vpermq", Inst{}},
		{"c5f5c6c001", "vshufpd", Inst{}},
		{"62f17c4858c1", "vaddps zmm", Inst{}},
		{"62f3754825c2ff", "vpternlogd", Inst{}},
		{"8fe97812c0", "llwpcb", Inst{}},
		{"8fea7810c044332211", "bextr XOP", Inst{}},
		{"8f00", "pop (rax)", Inst{}},
		{"0f20c0", "mov cr0", Inst{}},
		{"0f2005", "mov cr0 with mod 0", Inst{}},
		{"0f233d", "mov dr7 with mod 0", Inst{}},
		{"c6f801", "xabort", Inst{}},
		{"4064488b042528000000", "REX without effect", Inst{}},

		{"488b0510000000", "rip-relative", Inst{RIPOff: 3, RIPTarget: decodeBase + 7 + 0x10}},
		{"c705f0ffffff78563412", "rip-relative with imm32", Inst{RIPOff: 2, RIPTarget: decodeBase + 10 - 0x10}},
		{"c4e27d780501020304", "vpbroadcastb rip", Inst{RIPOff: 5, RIPTarget: decodeBase + 9 + 0x04030201}},
		{"62f17c48580510000000", "vaddps zmm rip", Inst{RIPOff: 6, RIPTarget: decodeBase + 10 + 0x10}},
		{"c4e37d19051000000001", "vextractf128 rip with imm8", Inst{RIPOff: 5, RIPTarget: decodeBase + 10 + 0x10}},
		{"67488b0500000000", "eip-relative", Inst{RIPOff: 4, RIPTarget: decodeBase + 8, PCSensitive: true}},
		{"488b042510000000", "absolute, by SIB", Inst{}},
		{"488b4500", "rbp", Inst{}},
		{"488b6c2d10", "rbp by SIB", Inst{}},
		{"67488b0500000080", "eip-relative, cut to 32 bits", Inst{RIPOff: 4, RIPTarget: decodeBase + 8 + 1<<31, PCSensitive: true}},
		{"66f20f38f1c1", "crc32", Inst{}},
		{"f2660f38f1c1", "crc32, 66 behind F2", Inst{}},
		{"4866b83412", "REX.W without effect", Inst{}},
		{"f6c801", "test imm8 by /1", Inst{}},

		{"eb10", "jmp rel8", Inst{Flow: FlowJump, RelOff: 1, RelLen: 1, Target: decodeBase + 0x12}},
		{"f2e900010000", "bnd jmp rel32", Inst{Flow: FlowJump, RelOff: 2, RelLen: 4, Target: decodeBase + 0x106}},
		{"2e75fe", "jne rel8 with a hint", Inst{Flow: FlowCond, RelOff: 2, RelLen: 1, Target: decodeBase + 1}},
		{"0f84faffffff", "je rel32", Inst{Flow: FlowCond, RelOff: 2, RelLen: 4, Target: decodeBase}},
		{"e305", "jrcxz", Inst{Flow: FlowLoop, RelOff: 1, RelLen: 1, Target: decodeBase + 7}},
		{"67e305", "jecxz", Inst{Flow: FlowLoop, RelOff: 2, RelLen: 1, Target: decodeBase + 8}},
		{"c7f810000000", "xbegin", Inst{Flow: FlowLoop, RelOff: 2, RelLen: 4, Target: decodeBase + 0x16, PCSensitive: true}},
		{"e810000000", "call", Inst{Flow: FlowCall, RelOff: 1, RelLen: 4, Target: decodeBase + 0x15}},
		{"e800000000", "call $+5", Inst{Flow: FlowCall, RelOff: 1, RelLen: 4, Target: decodeBase + 5, PCSensitive: true}},
		{"666648e810000000", "data16 call of __tls_get_addr", Inst{Flow: FlowCall, RelOff: 4, RelLen: 4, Target: decodeBase + 0x18}},
		{"ffd0", "call rax", Inst{Flow: FlowCallInd}},
		{"ff1510000000", "call (rip)", Inst{Flow: FlowCallInd, RIPOff: 2, RIPTarget: decodeBase + 0x16}},
		{"3effe2", "notrack jmp rdx", Inst{Flow: FlowJumpInd}},
		{"ff24c500000000", "jmp table", Inst{Flow: FlowJumpInd}},
		{"6674fe", "66 je", Inst{Flow: FlowCond, RelOff: 2, RelLen: 1, Target: decodeBase + 1, PCSensitive: true}},
		{"c3", "ret", Inst{Flow: FlowRet}},
		{"f3c3", "rep ret", Inst{Flow: FlowRet}},
		{"c20800", "ret 8", Inst{Flow: FlowRet}},
		{"0f05", "syscall", Inst{Flow: FlowSyscall}},
		{"cd80", "int 0x80", Inst{Flow: FlowSyscall}},
		{"cc", "int3", Inst{Flow: FlowStop}},
		{"0f0b", "ud2", Inst{Flow: FlowStop}},
		{"0fb9c0", "ud1", Inst{Flow: FlowStop}},
		{"f4", "hlt", Inst{Flow: FlowStop}},
		{"48cf", "iretq", Inst{Flow: FlowStop}},
		{"48ff28", "ljmp", Inst{Flow: FlowStop}},
	} {
		body, behind, _ := strings.Cut(c.hex, "/")
		code := unhex(t, body)
		got, err := Decode(append(code, unhex(t, behind)...), decodeBase)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		c.want.Addr, c.want.Len = decodeBase, len(code)
		c.want.Opcode, c.want.OpOff, c.want.Prefix, c.want.ModRM, c.want.HasModRM = got.Opcode, got.OpOff, got.Prefix, got.ModRM, got.HasModRM
		if got != c.want {
			t.Errorf("%s (%s):\n got %+v\nwant %+v", c.name, c.hex, got, c.want)
		}
		for n := range code {
			if _, err := Decode(code[:n], decodeBase); !errors.Is(err, ErrTruncated) {
				t.Errorf("%s: first %d bytes: %v, want ErrTruncated", c.name, n, err)
			}
		}
	}
}

// TestDecodeOpcode checks the numbering of maps and the prefix set.
func TestDecodeOpcode(t *testing.T) {
	for _, c := range []struct {
		hex    string
		opcode uint16
		opOff  int
		prefix Prefix
	}{
		{"ffd0", 0x00FF, 0, 0},
		{"480fafc0", 0x01AF, 2, PrefixRex | PrefixRexW},
		{"660f3800c1", 0x0200, 3, PrefixOpSize},
		{"660f3a0fc101", 0x030F, 3, PrefixOpSize},
		{"c5f877", 0x1177, 2, 0},
		{"c4e2fdb8c1", 0x12B8, 3, PrefixRexW},
		{"62f1fd4858c1", 0x2158, 4, PrefixRexW},
		{"8fe97812c0", 0x4912, 3, 0},
		{"f0654901442408", 0x0001, 3, PrefixLock | PrefixSegGS | PrefixRex | PrefixRexW | PrefixRexB},
		{"64488b042500000000", 0x008B, 2, PrefixSegFS | PrefixRex | PrefixRexW},
	} {
		in, err := Decode(unhex(t, c.hex), 0)
		if err != nil || in.Opcode != c.opcode || in.OpOff != c.opOff || in.Prefix != c.prefix {
			t.Errorf("%s: opcode %#x at %d, prefix %#x, %v", c.hex, in.Opcode, in.OpOff, in.Prefix, err)
		}
	}
}

// TestDecodeRefuses holds what must be refused: not in 64-bit mode, reserved, APX, 3DNow!, too long.
func TestDecodeRefuses(t *testing.T) {
	for _, h := range []string{
		"06", "07", "0e", "16", "17", "1e", "1f", "27", "2f", "37", "3f", "60", "61", "82c001", "9a", "ce", "d401", "d50158", "d6", "ea",
		"62f47c0801c0", "62f97c4858c1", "62f1784858c1", // APX map 4, reserved bits of EVEX
		"0f0fc19e", "0f0e", "0f04", "0f0a", "0f24c0", "0f36", "0f7ac0", "0fa6c0", "0f38ff00", "0f3aff00",
		"8dc0", "fed0", "fff8", "c6c801", "8fc8", "0fc7c8", "d9d1", "0f2bc0", "0f71c001",
		"48c5f877", "66c5f877", "f0c5f877", "f3c4e27d7800", "c4e47d00c0", "c4e000c0c0",
		"66e81000", "660f841000", "66c7f81000",
		"666666666666666666666666666666", "66666666666666666666666666662e90", "2e2e2e2e2e2e48b80000000000000000",
	} {
		code := append(unhex(t, h), make([]byte, 16)...)
		in, err := Decode(code, decodeBase)
		var u *Unknown
		if !errors.As(err, &u) || u.PC != decodeBase || len(u.Bytes) > MaxLen {
			t.Errorf("%s: %+v, %v, want *Unknown", h, in, err)
			continue
		}
		if !strings.Contains(u.Error(), "0x400000") {
			t.Errorf("%s: message %q", h, u)
		}
	}
}

// FuzzDecode holds what a caller relies on whatever the bytes are, and that bytes behind an instruction do not matter.
func FuzzDecode(f *testing.F) {
	for _, h := range []string{"c5f877c3", "488b0510000000", "e800000000", "62f17c48580510000000", "66662e0f1f840000000000"} {
		f.Add(unhex(f, h), uint64(decodeBase))
	}
	f.Fuzz(func(t *testing.T, code []byte, pc uint64) { checkDecode(t, code, pc) })
}

// TestDecodeRandom is a short form of the fuzzing for every run.
func TestDecodeRandom(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for range 200_000 {
		code := make([]byte, rnd.Intn(20))
		rnd.Read(code)
		checkDecode(t, code, rnd.Uint64())
	}
}

// checkDecode decodes and checks the invariants.
func checkDecode(t *testing.T, code []byte, pc uint64) {
	in, err := Decode(code, pc)
	if slow, slowErr := decode(code, pc); slow != in || (slowErr == nil) != (err == nil) {
		t.Fatalf("% x: %+v, %v; the general decoder: %+v, %v", code, in, err, slow, slowErr)
	}
	if err != nil {
		var u *Unknown
		if err != ErrTruncated && !errors.As(err, &u) {
			t.Fatalf("% x: error %T", code, err)
		}
		if err == ErrTruncated && len(code) >= MaxLen {
			t.Fatalf("% x: truncated although 15 bytes are there", code)
		}
		return
	}
	if in.Len < 1 || in.Len > MaxLen || in.Len > len(code) || in.Addr != pc {
		t.Fatalf("% x: length %d", code, in.Len)
	}
	if in.RelOff+in.RelLen > in.Len || in.RIPOff != 0 && in.RIPOff+4 > in.Len || in.OpOff >= in.Len {
		t.Fatalf("% x: offsets outside: %+v", code, in)
	}
	if again, err := Decode(code[:in.Len], pc); err != nil || again != in {
		t.Fatalf("% x: alone it is %+v, %v", code[:in.Len], again, err)
	}
	for n := range in.Len {
		if _, err := Decode(code[:n], pc); err != ErrTruncated {
			t.Fatalf("% x: its first %d bytes: %v", code[:in.Len], n, err)
		}
	}
	checkRelocate(t, code, in)
}

// checkRelocate moves an instruction and back again and compares what can be seen without running it.
func checkRelocate(t *testing.T, code []byte, in Inst) {
	to := in.Addr + 0x1234567
	moved, err := Relocate(nil, code, in, to)
	if err != nil {
		return
	}
	if in.Flow == FlowLoop {
		tail, err := Decode(moved[in.Len+2:], to+uint64(in.Len)+2)
		if err != nil || tail.Target != in.Target || tail.Len != 5 {
			t.Fatalf("% x: long form % x", code[:in.Len], moved)
		}
		return
	}
	out, err := Decode(moved, to)
	if err != nil || out.Len != len(moved) || out.Target != in.Target || out.RIPTarget != in.RIPTarget || out.Flow != in.Flow {
		t.Fatalf("% x moved is % x: %+v, %v", code[:in.Len], moved, out, err)
	}
	if in.Direct() {
		return
	}
	back, err := Relocate(nil, moved, out, in.Addr)
	if err != nil || string(back) != string(code[:in.Len]) {
		t.Fatalf("% x moved there and back is % x: %v", code[:in.Len], back, err)
	}
}

// newer are instructions that binutils 2.40 does not know yet: map and opcode.
func newer(op uint16) bool {
	switch op {
	case 0x12CB, 0x12CC, 0x12CD, 0x12D2, 0x12D3, 0x12DA, 0x13DE: // SHA512, AVX-VNNI-INT16, SM3, SM4
		return true
	}
	return false
}

// sameRegister says whether a complex FP16 multiplication names one register twice, which is undefined. Decode does not look
// at combinations of registers.
func sameRegister(in Inst) bool {
	switch in.Opcode {
	case 0x2656, 0x2657, 0x26D6, 0x26D7:
		return in.ModRM == 0xC0
	}
	return false
}

// refusedOnPurpose says that objdump prints what Decode refuses: obsolete, of other vendors, or an undefined encoding.
func refusedOnPurpose(code []byte, u *Unknown, l objLine) bool {
	if code[0] == 0x66 || code[0] == 0xF2 || code[0] == 0xF3 {
		code = code[1:]
	}
	op := code[0]
	switch {
	case op == 0x8C, op == 0x8E: // segment registers 6 and 7, mov to cs
		return true
	case op == 0x0F && (code[1] == 0x0E || code[1] == 0x0F || code[1] == 0xA6 || code[1] == 0xA7): // 3DNow!, PadLock
		return true
	case op == 0x0F && code[1] == 0x78: // extrq has /0 only
		return true
	case op == 0x8F && code[1]&0x38 != 0 && code[1]&0x1F < 8: // objdump reads /4 as a pop
		return true
	}
	return strings.HasPrefix(u.Why, "66-prefixed branch")
}

// A shapeKey names an opcode, prefix and ModRM form, whatever W, L, vvvv and mask are.
type shapeKey struct {
	m, op, pp int
	modrm     byte
}

// TestTables compares every opcode under every mandatory prefix with objdump: in every map, memory and register forms, all
// combinations of W, L, vvvv and mask (a form counts as known to objdump if it takes any of them).
func TestTables(t *testing.T) {
	needObjdump(t)
	for m := range tables {
		if tables[m] == nil {
			continue
		}
		step, forms := 1, modrmForms(m)
		switch {
		case *long:
		case m <= map0F3A:
			forms = []byte{0x04, 0x24, 0xC0, 0xE0} // every opcode, few forms
		default:
			step = 32 // few opcodes, every form
		}
		var codes [][]byte
		var keys []shapeKey
		for op := 5 % step; op < 256; op += step {
			for pp := range 4 {
				for _, modrm := range forms {
					for _, c := range variants(m, op, pp, modrm) {
						codes, keys = append(codes, c), append(keys, shapeKey{m, op, pp, modrm})
					}
				}
			}
		}
		compareTable(t, codes, keys)
	}
}

// modrmForms returns memory forms (with SIB) for every /reg, and register forms: all 64 where single ones differ.
func modrmForms(m int) (out []byte) {
	for r := range 8 {
		out = append(out, byte(r<<3|4))
	}
	step := 8
	if m == mapLegacy || m == map0F {
		step = 1
	}
	for r := 0xC0; r < 0x100; r += step {
		out = append(out, byte(r))
	}
	return out
}

// variants returns the encodings of an opcode: one for the legacy maps, many for VEX, EVEX and XOP.
func variants(m, op, pp int, modrm byte) (out [][]byte) {
	tail := []byte{byte(op), modrm}
	if modrm < 0xC0 {
		tail = append(tail, 0x20) // [rax], with the X bit [rax+r12], an index that is the destination of no gather here
	}
	prefix := [][]byte{nil, {0x66}, {0xF3}, {0xF2}}[pp]
	legacy := map[int][]byte{mapLegacy: {}, map0F: {0x0F}, map0F38: {0x0F, 0x38}, map0F3A: {0x0F, 0x3A}}
	if esc, ok := legacy[m]; ok {
		if m == mapLegacy && (prefixOf[op] != 0 || op == 0x0F || op == 0x62 || op == 0xC4 || op == 0xC5 || op == 0x8F && modrm&0x1F >= 8) ||
			m == map0F && (op == 0x38 || op == 0x3A || op == 0x0F) {
			return nil
		}
		return [][]byte{cat(prefix, esc, tail)}
	}
	for bits := range 24 {
		w, v, a, l := byte(bits&1), byte(bits>>1&1)*14+1, byte(bits>>2&1), byte(bits>>3)
		switch {
		case m&mapEVEX != 0:
			out = append(out, cat([]byte{0x62, 0xB0 | byte(m&7), w<<7 | v<<3 | 4 | byte(pp), l<<5 | 8 | a}, tail))
		case a == 0 && l < 2 && m&mapVEX != 0:
			out = append(out, cat([]byte{0xC4, 0xA0 | byte(m&0xF), w<<7 | v<<3 | l<<2 | byte(pp)}, tail))
		case a == 0 && l < 2 && pp == 0:
			out = append(out, cat([]byte{0x8F, 0xA0 | byte(m&0xF), w<<7 | v<<3 | l<<2}, tail))
		}
	}
	return out
}

// cat joins byte slices into a new one.
func cat(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// compareTable puts every code into a slot of its own and compares the two readings.
func compareTable(t *testing.T, codes [][]byte, keys []shapeKey) {
	const slot = 24
	buf := make([]byte, len(codes)*slot)
	for i := range buf {
		buf[i] = 0x90
	}
	for i, c := range codes {
		copy(buf[i*slot:], c)
	}
	path := filepath.Join(t.TempDir(), "slots.bin")
	if err := os.WriteFile(path, buf, 0o600); err != nil {
		t.Fatal(err)
	}
	lines := make([]objLine, len(codes))
	known := map[shapeKey]bool{}
	objdump(t, func(l objLine) {
		if i := l.addr / slot; l.addr%slot == 0 && i < uint64(len(lines)) {
			lines[i] = l
			known[keys[i]] = known[keys[i]] || objdumpKnows(l)
		}
	}, "-D", "-b", "binary", "-mi386:x86-64", path)
	bad := 0
	for i, c := range codes {
		if why := compareSlot(buf[i*slot:(i+1)*slot], c, lines[i], known[keys[i]]); why != "" {
			if bad++; bad <= 20 {
				t.Errorf("% x: objdump %q: %s", c, lines[i].text, why)
			}
		}
	}
}

// objdumpKnows says whether the line is a complete instruction.
func objdumpKnows(l objLine) bool {
	return l.mn != "" && !strings.Contains(l.text, "(bad)") && !strings.HasPrefix(l.text, ".byte")
}

// compareSlot says in what the readings of one slot differ.
func compareSlot(slot, code []byte, l objLine, known bool) string {
	in, err := Decode(slot, l.addr)
	var u *Unknown
	switch {
	case err != nil && !errors.As(err, &u):
		return err.Error()
	case err != nil && objdumpKnows(l) && !refusedOnPurpose(code, u, l):
		return err.Error()
	case err != nil:
		return ""
	case in.Opcode == 0x9B: // objdump may fuse fwait with what is behind it
		return ""
	case !known && sameRegister(in):
		return ""
	case !known && !newer(in.Opcode):
		return "objdump does not know it"
	case objdumpKnows(l):
		return difference(l, in, nil)
	}
	return ""
}
