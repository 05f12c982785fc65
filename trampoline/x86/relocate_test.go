package x86

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"syscall"
	"testing"
)

// TestRelocate holds the forms that change.
func TestRelocate(t *testing.T) {
	const from, to = 0x401000, 0x501000
	for _, c := range []struct{ name, hex, want string }{
		{"plain", "4889e5", "4889e5"},
		{"rip-relative load", "488b0510000000", "488b051000f0ff"},
		{"rip-relative with immediate", "c7050000000001000000", "c7050000f0ff01000000"},
		{"rip-relative vex", "c4e27d780500000000", "c4e27d780500 00f0ff"},
		{"rip-relative lea", "488d3d00100000", "488d3d0010f0ff"},
		{"jmp through rip", "ff2500000000", "ff250000f0ff"},
		{"jmp rel8", "eb10", "e90d00f0ff"},
		{"jmp rel32", "e900000000", "e90000f0ff"},
		{"jcc rel8", "7410", "0f840c00f0ff"},
		{"jcc rel32", "0f8f00010000", "0f8f0001f0ff"},
		{"jcc with hint", "3e7410", "3e0f840c00f0ff"},
		{"bnd jmp", "f2eb10", "f2e90d00f0ff"},
		{"jrcxz", "e310", "e302eb05e90900f0ff"},
		{"jecxz", "67e310", "67e302eb05e90900f0ff"},
		{"loop", "e2fe", "e202eb05e9f7ffefff"},
		{"ret", "c3", "c3"},
		{"jmp to register", "ffe0", "ffe0"},
		{"endbr64", "f30f1efa", "f30f1efa"},
	} {
		code := unhex(t, c.hex)
		in, err := Decode(code, from)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := Relocate([]byte{0xAA}, code, in, to)
		if want := "aa" + strings.ReplaceAll(c.want, " ", ""); err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: %x, %v, want %s", c.name, got, err, want)
		}
	}
}

// TestRelocateRefuses holds what must stay where it is, and the reach of 2 GiB to the byte.
func TestRelocateRefuses(t *testing.T) {
	for _, h := range []string{"e810000000", "ffd0", "ff1500000000", "0f05", "0f34", "cd80", "cc", "0f0b", "f4", "48cf", "c7f800000000",
		"67488b0500000000", "667410", "66c3", "2e2e2e2e2e2e2e2e2e2e2e7410"} {
		code := unhex(t, h)
		in, err := Decode(code, 0x401000)
		if err != nil {
			t.Fatal(err)
		}
		var re *RelocateError
		if got, err := Relocate(nil, code, in, 0x501000); !errors.As(err, &re) || got != nil || !strings.Contains(err.Error(), "0x401000") {
			t.Errorf("%s: %x, %v", h, got, err)
		}
	}
	code := unhex(t, "488b0500000000")
	in, _ := Decode(code, 1<<40)
	for _, d := range []int64{1<<31 - 1, -1 << 31, 1 << 31, -1<<31 - 1} {
		to := in.RIPTarget - uint64(d) - 7
		_, err := Relocate(nil, code, in, to)
		var far *RangeError
		if ok := d == int64(int32(d)); ok != (err == nil) || !ok && !errors.As(err, &far) {
			t.Errorf("distance %d: %v", d, err)
		}
	}
	other := in
	other.Len = 6
	if _, err := Relocate(nil, code, other, 1<<40); err == nil {
		t.Error("an Inst that does not fit the bytes was accepted")
	}
	if _, err := Relocate(nil, code[:3], in, 1<<40); err == nil {
		t.Error("bytes shorter than the instruction were accepted")
	}
}

// TestTargetsInside checks the question a window asks.
func TestTargetsInside(t *testing.T) {
	in, _ := Decode([]byte{0xEB, 0x02}, 0x1000)
	for _, c := range []struct {
		lo, hi uint64
		want   bool
	}{{0x1004, 0x1005, true}, {0x1000, 0x1004, false}, {0x1005, 0x1010, false}} {
		if in.TargetsInside(c.lo, c.hi) != c.want {
			t.Errorf("jump to 0x1004 into [%#x, %#x)", c.lo, c.hi)
		}
	}
	if plain, _ := Decode([]byte{0x90}, 0); plain.TargetsInside(0, 1) {
		t.Error("a nop leads nowhere")
	}
}

// A shape is one instruction as it was found, standing for all with the same prefixes, opcode and ModRM.
type shape struct {
	code []byte
	in   Inst // decoded at address 0
}

// shapesOf returns the different shapes of a library that Relocate accepts, by class: plain, RIP-relative, branch.
func shapesOf(t *testing.T, names ...string) (out [3][]shape) {
	type key struct {
		p     Prefix
		op    uint16
		modrm byte
		n     int
	}
	seen := map[key]bool{}
	for _, name := range names {
		path := find(name)
		if path == "" {
			continue
		}
		for _, s := range textSections(t, path) {
			for off := 0; off < len(s.data); {
				in, err := Decode(s.data[off:], 0)
				if err != nil {
					off++ // data among the code
					continue
				}
				k := key{in.Prefix, in.Opcode, in.ModRM, in.Len}
				if code := s.data[off : off+in.Len]; !seen[k] && immovable(in) == "" {
					seen[k] = true
					out[classOf(in)] = append(out[classOf(in)], shape{code, in})
				}
				off += in.Len
			}
		}
	}
	return out
}

// classOf returns the class of a shape.
func classOf(in Inst) int {
	switch {
	case in.Flow != FlowNext:
		return 2
	case in.RIPOff != 0:
		return 1
	}
	return 0
}

// extraShapes are forms that libraries seldom hold.
var extraShapes = []string{"e310", "67e310", "e210", "e110", "e010", "e2fe", "7010", "eb80", "3e7410", "f2eb10", "ff2500000000", "f3c3", "c20800",
	"48ffe0", "f3a4", "f348a5", "f3aa", "f2ae", "f3a6", "48f73500000000", "0fb60500000000", "480fc10500000000", "f0480fb10d00000000",
	"c705000000 0001000000", "66c705000000000100", "c5fd6f0500000000", "c5f877", "c4e27d780500000000", "9c", "9d", "9e", "9f", "fc", "fd", "c9"}

// TestRelocateText lets GNU objdump read every shape of libc at its place and at another one: mnemonic, operands and resolved
// target must be the same.
func TestRelocateText(t *testing.T) {
	needObjdump(t)
	const slot, from, to = 32, 0x10000000, 0x52345000
	orig, moved := []byte{}, []byte{}
	var ins []Inst
	classes := shapesOf(t, "libc.so.6", "libm.so.6")
	for _, h := range extraShapes {
		code := unhex(t, strings.ReplaceAll(h, " ", ""))
		in, err := Decode(code, 0)
		if err != nil {
			t.Fatalf("%s: %v", h, err)
		}
		classes[classOf(in)] = append(classes[classOf(in)], shape{code, in})
	}
	for _, class := range classes {
		for _, s := range class {
			in, err := Decode(s.code, from+uint64(len(orig)))
			if err != nil {
				t.Fatal(err)
			}
			code, err := Relocate(nil, s.code, in, to+uint64(len(moved)))
			if err != nil {
				t.Errorf("% x: %v", s.code, err)
				continue
			}
			ins = append(ins, in)
			orig, moved = padSlot(append(orig, s.code...), slot), padSlot(append(moved, code...), slot)
		}
	}
	a, b := slotLines(t, orig, from, slot), slotLines(t, moved, to, slot)
	t.Logf("%d shapes", len(ins))
	bad := 0
	for i, in := range ins {
		if why := sameText(in, a[i], b[i]); why != "" {
			if bad++; bad < 20 {
				t.Errorf("% x: %s", orig[i*slot:i*slot+in.Len], why)
			}
		}
	}
}

// padSlot fills b with nops up to a multiple of n, as few as possible: objdump is asked for each.
func padSlot(b []byte, n int) []byte {
	a := Asm{buf: b}
	a.Nop((n - len(b)%n) % n)
	return a.Bytes()
}

// slotLines disassembles slots and returns the lines of each.
func slotLines(t *testing.T, code []byte, base uint64, slot int) [][]objLine {
	out := make([][]objLine, len(code)/slot)
	for _, l := range disassemble(t, code, base) {
		i := int(l.addr-base) / slot
		out[i] = append(out[i], l)
	}
	return out
}

// sameText says in what the two readings differ.
func sameText(in Inst, a, b []objLine) string {
	x, y := a[0], b[0]
	if in.Flow == FlowLoop {
		if len(b) < 3 || x.mn != y.mn || b[1].mn != "jmp" || b[2].mn != "jmp" || y.ref != b[2].addr || b[1].ref != b[3].addr || b[2].ref != x.ref {
			return fmt.Sprintf("moved: %q %q %q", y.text, b[1].text, b[2].text)
		}
		return ""
	}
	if x.mn != y.mn || x.ref != y.ref || x.rip != y.rip || x.dir != y.dir {
		return fmt.Sprintf("%q %#x, moved %q %#x", x.text, x.ref, y.text, y.ref)
	}
	if !x.rip && !x.dir && x.text != y.text {
		return fmt.Sprintf("%q, moved %q", x.text, y.text)
	}
	return ""
}

// TestRelocateRun executes instructions and their relocated copies from the same random state and compares everything:
// general registers, flags, SSE and AVX registers, memory, the signal if one comes, and where control goes.
func TestRelocateRun(t *testing.T) {
	n, libs := 10_000, []string{"libc.so.6"}
	if *long {
		n, libs = 1_000_000, []string{"libc.so.6", "libm.so.6", "libstdc++.so.6", "libcrypto.so.3"}
	}
	classes := shapesOf(t, libs...)
	for _, h := range extraShapes {
		code := unhex(t, strings.ReplaceAll(h, " ", ""))
		in, err := Decode(code, 0)
		if err != nil {
			t.Fatal(err)
		}
		classes[classOf(in)] = append(classes[classOf(in)], shape{code, in})
	}
	r := newRunner(t)
	for i := range n {
		class := classes[i%3]
		if s := class[r.rnd.Intn(len(class))]; !varies(s.in) {
			r.try(s)
		}
		if r.bad > 10 {
			t.Fatal("too many differences")
		}
	}
	t.Logf("%d cases over %d+%d+%d shapes: %d went on, %d faulted alike, %d branches taken",
		r.cases, len(classes[0]), len(classes[1]), len(classes[2]), r.went, r.faulted, r.taken)
	if r.went < r.cases/2 || r.taken < r.cases/20 {
		t.Errorf("too few cases say something: %d of %d went on, %d branches taken", r.went, r.cases, r.taken)
	}
}

// varies says whether two executions differ of themselves: clocks, random numbers, the processor's number.
func varies(in Inst) bool {
	switch in.Opcode {
	case 0x131, 0x132, 0x133, 0x1A2: // rdtsc, rdmsr, rdpmc, cpuid
		return true
	case 0x101: // rdtscp, xgetbv and relatives
		return in.ModRM >= 0xC0
	case 0x1C7: // rdrand, rdseed, rdpid
		return in.ModRM >= 0xF0
	case 0x103, 0x102, 0x100: // lsl, lar, sldt.. see the processor's tables
		return true
	}
	return false
}

// A runner keeps what the cases share.
type runner struct {
	t                    *testing.T
	m                    *machine
	rnd                  *rand.Rand
	in, a, b             state
	cases, went, faulted int
	taken, bad           int
}

// newRunner starts the machine.
func newRunner(t *testing.T) *runner {
	r := &runner{t: t, m: newMachine(t), rnd: rand.New(rand.NewSource(20))}
	for _, s := range []*state{&r.in, &r.a, &r.b} {
		s.xstate, s.data = bytes.Clone(r.m.xstate), make([]byte, dataSize)
	}
	return r
}

// try runs one case.
func (r *runner) try(s shape) {
	code := bytes.Clone(s.code)
	r.aim(code, s.in)
	in, err := Decode(code, origAt)
	if err != nil {
		r.t.Fatalf("% x: %v", code, err)
	}
	moved, err := Relocate(nil, code, in, copyAt)
	if err != nil {
		r.t.Fatalf("% x: %v", code, err)
	}
	r.randomState(code, in)
	r.m.vm(sysWritev, origAt, append(bytes.Clone(code), nopTail...))
	r.m.vm(sysWritev, copyAt, append(bytes.Clone(moved), nopTail...))
	window := in.Len
	if in.Flow != FlowNext {
		window = 0 // a branch may lead to itself: one step
	}
	r.m.run(&r.in, origAt, window, &r.a)
	r.m.run(&r.in, copyAt, len(moved), &r.b)
	r.count(in)
	if why := r.differ(in, len(moved)); why != "" {
		r.bad++
		r.t.Errorf("% x, moved % x: %s", code, moved, why)
	}
}

// nopTail is what stands behind both copies: a write to ss delays the stop by one instruction.
var nopTail = bytes.Repeat([]byte{0x90}, 8)

// aim makes a RIP-relative operand name the data, and a rel32 branch lead anywhere near.
func (r *runner) aim(code []byte, in Inst) {
	if in.RIPOff != 0 {
		target := uint64(dataMid) + uint64(r.rnd.Intn(64))*16
		binary.LittleEndian.PutUint32(code[in.RIPOff:], uint32(target-(origAt+uint64(in.Len))))
	}
	if in.RelLen == 4 {
		binary.LittleEndian.PutUint32(code[in.RelOff:], uint32(r.rnd.Int31n(1<<28)))
	}
}

// randomState fills registers, flags, vector registers and memory. The registers of a memory operand mostly point into the data.
func (r *runner) randomState(code []byte, in Inst) {
	g := &r.in.regs
	*g = r.m.boot
	g.Orig_rax = ^uint64(0)
	for i := range 16 {
		*reg(g, i) = r.word()
	}
	g.Rsp = dataMid - 512 + uint64(r.rnd.Intn(128))*8
	g.Eflags = 0x202 | r.rnd.Uint64()&0xCD5 // CF PF AF ZF SF DF OF
	g.Fs_base, g.Gs_base = dataMid, dataMid
	r.pointOperand(g, code, in)
	if in.Prefix&(PrefixRep|PrefixRepne) != 0 || in.Flow == FlowLoop {
		g.Rcx = uint64(r.rnd.Intn(4))
	}
	for st := 32; st < 160; st += 16 {
		r.rnd.Read(r.in.xstate[st : st+10]) // the other six bytes of an x87 register are not kept
	}
	r.rnd.Read(r.in.xstate[160:416])
	if len(r.in.xstate) >= 832 {
		r.rnd.Read(r.in.xstate[576:832])
		r.in.xstate[512] |= 7 // x87, SSE and AVX are in use
	}
	r.rnd.Read(r.in.data)
}

// word returns a register value: an address of the data, a small number or any.
func (r *runner) word() uint64 {
	switch r.rnd.Intn(4) {
	case 0:
		return uint64(r.rnd.Intn(8))
	case 1:
		return r.rnd.Uint64()
	}
	return dataMid - 1024 + uint64(r.rnd.Intn(256))*8
}

// pointOperand gives base and index of a memory operand values that lead into the data.
func (r *runner) pointOperand(g *syscall.PtraceRegs, code []byte, in Inst) {
	at := in.OpOff + 1
	control := in.Opcode >= 0x120 && in.Opcode <= 0x123 // mov to cr and dr has no memory form
	if !in.HasModRM || in.ModRM >= 0xC0 || control || in.RIPOff != 0 || r.rnd.Intn(16) == 0 {
		return
	}
	mod, rm := in.ModRM>>6, int(in.ModRM&7)
	x, b := extensions(code, in)
	disp := at + 1
	base := rm | b
	if rm == 4 {
		sib := code[at+1]
		disp++
		base = int(sib&7) | b
		if index := int(sib>>3&7) | x; index != 4 {
			*reg(g, index) = uint64(r.rnd.Intn(64))
		}
		if mod == 0 && sib&7 == 5 {
			return // no base: an absolute address, or one of %fs
		}
	}
	var d int64
	switch mod {
	case 1:
		d = int64(int8(code[disp]))
	case 2:
		d = int64(int32(binary.LittleEndian.Uint32(code[disp:])))
	}
	*reg(g, base) = dataMid - 512 + uint64(r.rnd.Intn(64))*16 - uint64(d)
}

// extensions returns 8 where the X and B bits extend index and base.
func extensions(code []byte, in Inst) (x, b int) {
	var bits byte
	switch {
	case in.Opcode>>8&0xF0 != 0: // VEX, EVEX, XOP: inverted, behind the first byte; C5 has none
		for i, c := range code {
			if prefixOf[c] == 0 {
				if c != 0xC5 {
					bits = ^code[i+1] >> 5
				}
				break
			}
		}
	case in.Prefix&PrefixRex != 0:
		for _, c := range code {
			if c&0xF0 == 0x40 {
				bits = c
			} else if prefixOf[c] == 0 {
				break
			}
		}
	}
	return int(bits>>1&1) * 8, int(bits&1) * 8
}

// reg returns register n by its number in the encoding.
func reg(g *syscall.PtraceRegs, n int) *uint64 {
	return [...]*uint64{&g.Rax, &g.Rcx, &g.Rdx, &g.Rbx, &g.Rsp, &g.Rbp, &g.Rsi, &g.Rdi, &g.R8, &g.R9, &g.R10, &g.R11, &g.R12, &g.R13, &g.R14, &g.R15}[n]
}

// count keeps the books on what the cases did.
func (r *runner) count(in Inst) {
	r.cases++
	switch {
	case r.a.signal != syscall.SIGTRAP:
		r.faulted++
	default:
		r.went++
		if in.Flow != FlowNext && r.a.regs.Rip != in.End() {
			r.taken++
		}
	}
}

// differ says in what the two results differ, "" if in nothing. The program counter is compared as the distance from the end
// of the instruction where control goes on behind it, else as an address.
func (r *runner) differ(in Inst, n int) string {
	a, b := r.a, r.b
	wentOn := in.Flow == FlowNext || a.regs.Rip == in.End() && b.regs.Rip != in.End()
	switch {
	case a.signal != b.signal:
		return fmt.Sprintf("signal %v, moved %v", a.signal, b.signal)
	case a.signal != syscall.SIGTRAP && a.regs.Rip == origAt:
		if b.regs.Rip != copyAt {
			return fmt.Sprintf("fault at %#x, moved at %#x", a.regs.Rip, b.regs.Rip)
		}
	case wentOn:
		if a.regs.Rip-in.End() != b.regs.Rip-(copyAt+uint64(n)) {
			return fmt.Sprintf("went on at %#x, moved at %#x", a.regs.Rip, b.regs.Rip)
		}
	case a.regs.Rip != b.regs.Rip:
		return fmt.Sprintf("went to %#x, moved to %#x", a.regs.Rip, b.regs.Rip)
	}
	a.regs.Rip, b.regs.Rip = 0, 0
	switch {
	case a.regs != b.regs:
		return fmt.Sprintf("registers\n%+v, moved\n%+v", a.regs, b.regs)
	case !bytes.Equal(a.xstate, b.xstate):
		i := 0
		for a.xstate[i] == b.xstate[i] {
			i++
		}
		return fmt.Sprintf("extended state differs from byte %d on: % x, moved % x", i, a.xstate[i:i+4], b.xstate[i:i+4])
	case !bytes.Equal(a.data, b.data):
		return "memory differs"
	}
	return ""
}
