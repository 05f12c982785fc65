package x86

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

const asmBase = 0x401000

// encodings is the table of the assembler: what is called, what bytes come out, what GNU objdump reads in them.
var encodings = []struct {
	emit func(*Asm)
	hex  string
	text string
}{
	{func(a *Asm) { a.Push(RBX) }, "53", "push %rbx"},
	{func(a *Asm) { a.Push(R12) }, "4154", "push %r12"},
	{func(a *Asm) { a.Pop(RDI) }, "5f", "pop %rdi"},
	{func(a *Asm) { a.Pop(R15) }, "415f", "pop %r15"},
	{func(a *Asm) { a.MovRR(RAX, RSP) }, "4889e0", "mov %rsp,%rax"},
	{func(a *Asm) { a.MovRR(R9, RCX) }, "4989c9", "mov %rcx,%r9"},
	{func(a *Asm) { a.MovRM(RAX, RCX, 0) }, "488b01", "mov (%rcx),%rax"},
	{func(a *Asm) { a.MovRM(R8, RSP, 8) }, "4c8b442408", "mov 0x8(%rsp),%r8"},
	{func(a *Asm) { a.MovRM(RDX, R12, 0) }, "498b1424", "mov (%r12),%rdx"},
	{func(a *Asm) { a.MovRM(RDX, R13, 0) }, "498b5500", "mov 0x0(%r13),%rdx"},
	{func(a *Asm) { a.MovRM(RDX, RBP, -0x200) }, "488b9500feffff", "mov -0x200(%rbp),%rdx"},
	{func(a *Asm) { a.MovMR(RCX, 0x80, RAX) }, "48898180000000", "mov %rax,0x80(%rcx)"},
	{func(a *Asm) { a.MovMR(R14, -0x80, R15) }, "4d897e80", "mov %r15,-0x80(%r14)"},
	{func(a *Asm) { a.MovMR8(RDX, 0, RSI) }, "408832", "mov %sil,(%rdx)"},
	{func(a *Asm) { a.MovMR8(RSP, 1, RAX) }, "88442401", "mov %al,0x1(%rsp)"},
	{func(a *Asm) { a.MovMR8(R9, 0, R10) }, "458811", "mov %r10b,(%r9)"},
	{func(a *Asm) { a.MovFS(RSI, 0) }, "64488b342500000000", "mov %fs:0x0,%rsi"},
	{func(a *Asm) { a.MovFS(R11, 0x28) }, "644c8b1c2528000000", "mov %fs:0x28,%r11"},
	{func(a *Asm) { a.MovImm64(RAX, 0x1122334455667788) }, "48b88877665544332211", "movabs $0x1122334455667788,%rax"},
	{func(a *Asm) { a.MovImm64(R10, 1) }, "49ba0100000000000000", "movabs $0x1,%r10"},
	{func(a *Asm) { a.MovImm32(RDI, 64) }, "bf40000000", "mov $0x40,%edi"},
	{func(a *Asm) { a.MovImm32(R8, 0xFFFFFFFF) }, "41b8ffffffff", "mov $0xffffffff,%r8d"},
	{func(a *Asm) { a.MovMI(RCX, 16, 1) }, "48c7411001000000", "movq $0x1,0x10(%rcx)"},
	{func(a *Asm) { a.MovMI(R13, 0, -2) }, "49c74500feffffff", "movq $0xfffffffffffffffe,0x0(%r13)"},
	{func(a *Asm) { a.Lea(RSP, RSP, -128) }, "488d642480", "lea -0x80(%rsp),%rsp"},
	{func(a *Asm) { a.Lea(RAX, R12, 0x1000) }, "498d842400100000", "lea 0x1000(%r12),%rax"},
	{func(a *Asm) { l := a.NewLabel(); a.LeaRIP(RAX, l); a.Bind(l) }, "488d0500000000", "lea 0x0(%rip),%rax"},
	{func(a *Asm) { a.LeaAddr(R9, a.Addr()+7+0x10) }, "4c8d0d10000000", "lea 0x10(%rip),%r9"},
	{func(a *Asm) { a.IncM(RCX, 0) }, "48ff01", "incq (%rcx)"},
	{func(a *Asm) { a.LockXaddMR(RDI, 0, R9) }, "f04c0fc10f", "lock xadd %r9,(%rdi)"},
	{func(a *Asm) { a.LockCmpxchgMR(RCX, 0, RSI) }, "f0480fb131", "lock cmpxchg %rsi,(%rcx)"},
	{func(a *Asm) { a.LockCmpxchg16bM(RDI, 64) }, "f0480fc74f40", "lock cmpxchg16b 0x40(%rdi)"},
	{func(a *Asm) { a.LockCmpxchg16bM(R13, 0) }, "f0490fc74d00", "lock cmpxchg16b 0x0(%r13)"},
	{func(a *Asm) { a.XchgMR(RBX, 0, RSI) }, "488733", "xchg %rsi,(%rbx)"},
	{func(a *Asm) { a.BtcRI(RBX, 63) }, "480fbafb3f", "btc $0x3f,%rbx"},
	{func(a *Asm) { a.BtcRI(R9, 1) }, "490fbaf901", "btc $0x1,%r9"},
	{func(a *Asm) { a.NotR(RBX) }, "48f7d3", "not %rbx"},
	{func(a *Asm) { a.NotR(R14) }, "49f7d6", "not %r14"},
	{func(a *Asm) { a.AddMR(RCX, 16, RAX) }, "48014110", "add %rax,0x10(%rcx)"},
	{func(a *Asm) { a.AddMI(RCX, 0, 1) }, "48830101", "addq $0x1,(%rcx)"},
	{func(a *Asm) { a.AddMI(R11, 0, 0x1234) }, "4981033412 0000", "addq $0x1234,(%r11)"},
	{func(a *Asm) { a.CmpMI(RCX, 8, 0) }, "4883790800", "cmpq $0x0,0x8(%rcx)"},
	{func(a *Asm) { a.CmpMI(RSP, 0, 0x100) }, "48813c2400010000", "cmpq $0x100,(%rsp)"},
	{func(a *Asm) { a.AddRR(RCX, RAX) }, "4801c1", "add %rax,%rcx"},
	{func(a *Asm) { a.SubRR(RDX, R8) }, "4c29c2", "sub %r8,%rdx"},
	{func(a *Asm) { a.OrRR(RAX, RDX) }, "4809d0", "or %rdx,%rax"},
	{func(a *Asm) { a.AndRR(R10, RBX) }, "4921da", "and %rbx,%r10"},
	{func(a *Asm) { a.XorRR(RAX, RAX) }, "4831c0", "xor %rax,%rax"},
	{func(a *Asm) { a.CmpRR(RDX, RSI) }, "4839f2", "cmp %rsi,%rdx"},
	{func(a *Asm) { a.TestRR(RDX, R9) }, "4c85ca", "test %r9,%rdx"},
	{func(a *Asm) { a.AddRI(RSP, 8) }, "4883c408", "add $0x8,%rsp"},
	{func(a *Asm) { a.SubRI(RDI, 1) }, "4883ef01", "sub $0x1,%rdi"},
	{func(a *Asm) { a.SubRI(R12, 0x1000) }, "4981ec00100000", "sub $0x1000,%r12"},
	{func(a *Asm) { a.AndRI(RCX, 0xFFF) }, "4881e1ff0f0000", "and $0xfff,%rcx"},
	{func(a *Asm) { a.AndRI(RSP, -16) }, "4883e4f0", "and $0xfffffffffffffff0,%rsp"},
	{func(a *Asm) { a.CmpRI(RAX, 0x7F) }, "4883f87f", "cmp $0x7f,%rax"},
	{func(a *Asm) { a.CmpRI32(RAX, 3) }, "83f803", "cmp $0x3,%eax"},
	{func(a *Asm) { a.CmpRI32(R9, 0x12345) }, "4181f945230100", "cmp $0x12345,%r9d"},
	{func(a *Asm) { a.AddRM(RAX, RSP, 8) }, "4803442408", "add 0x8(%rsp),%rax"},
	{func(a *Asm) { a.SubRM(RAX, RCX, 8) }, "482b4108", "sub 0x8(%rcx),%rax"},
	{func(a *Asm) { a.CmpMR(RCX, 0x18, RAX) }, "48394118", "cmp %rax,0x18(%rcx)"},
	{func(a *Asm) { a.CmpFS(RAX, 0) }, "64483b042500000000", "cmp %fs:0x0,%rax"},
	{func(a *Asm) { a.ImulRR(RAX, R10) }, "490fafc2", "imul %r10,%rax"},
	{func(a *Asm) { a.ImulRRI(RCX, RAX, 1000000000) }, "4869c800ca9a3b", "imul $0x3b9aca00,%rax,%rcx"},
	{func(a *Asm) { a.ImulRRI(R8, R9, -7) }, "4d69c1f9ffffff", "imul $0xfffffffffffffff9,%r9,%r8"},
	{func(a *Asm) { a.ShlRI(RDX, 32) }, "48c1e220", "shl $0x20,%rdx"},
	{func(a *Asm) { a.ShrRI(R11, 63) }, "49c1eb3f", "shr $0x3f,%r11"},
	{func(a *Asm) { a.RorRI(RAX, 17) }, "48c1c811", "ror $0x11,%rax"},
	{func(a *Asm) { a.XorFS(RAX, 0x30) }, "644833042530000000", "xor %fs:0x30,%rax"},
	{func(a *Asm) { a.NegR(R13) }, "49f7dd", "neg %r13"},
	{func(a *Asm) { a.OrRI(RDX, 4) }, "4883ca04", "or $0x4,%rdx"},
	{func(a *Asm) { a.OrRI(R9, 0x1000) }, "4981c900100000", "or $0x1000,%r9"},
	{func(a *Asm) { a.ShrRCL(RAX) }, "48d3e8", "shr %cl,%rax"},
	{func(a *Asm) { a.ShrRCL(R13) }, "49d3ed", "shr %cl,%r13"},
	{func(a *Asm) { a.Bsr(RDX, RDX) }, "480fbdd2", "bsr %rdx,%rdx"},
	{func(a *Asm) { a.Bsr(R8, RAX) }, "4c0fbdc0", "bsr %rax,%r8"},
	{func(a *Asm) { a.XchgRR(RCX, RDX) }, "4887d1", "xchg %rdx,%rcx"},
	{func(a *Asm) { a.XchgRR(R9, RBX) }, "4987d9", "xchg %rbx,%r9"},
	{func(a *Asm) { a.LeaIndex(RAX, RAX, RCX, 0) }, "488d448800", "lea 0x0(%rax,%rcx,4),%rax"},
	{func(a *Asm) { a.LeaIndex(R10, R13, R12, -8) }, "4f8d54a5f8", "lea -0x8(%r13,%r12,4),%r10"},
	{func(a *Asm) { a.IncIndexM(RDX, RAX, 64) }, "48ff84c240000000", "incq 0x40(%rdx,%rax,8)"},
	{func(a *Asm) { a.IncIndexM(R12, R9, -8) }, "4bff84ccf8ffffff", "incq -0x8(%r12,%r9,8)"},
	{func(a *Asm) { a.Setcc(CondG, RAX) }, "0f9fc0", "setg %al"},
	{func(a *Asm) { a.Setcc(CondB, RSI) }, "400f92c6", "setb %sil"},
	{func(a *Asm) { a.Setcc(CondNE, R8) }, "410f95c0", "setne %r8b"},
	{func(a *Asm) { a.MovzxRB(RAX, RAX) }, "0fb6c0", "movzbl %al,%eax"},
	{func(a *Asm) { a.MovzxRB(R9, RDI) }, "440fb6cf", "movzbl %dil,%r9d"},
	{func(a *Asm) { a.MovzxRB(RDX, RBP) }, "400fb6d5", "movzbl %bpl,%edx"},
	{func(a *Asm) { a.MovSizedRM(RAX, RSP, 0x20, 8, true) }, "488b442420", "mov 0x20(%rsp),%rax"},
	{func(a *Asm) { a.MovSizedRM(RAX, RSP, 0x20, 4, true) }, "4863442420", "movslq 0x20(%rsp),%rax"},
	{func(a *Asm) { a.MovSizedRM(RDX, RSP, 0x20, 4, false) }, "8b542420", "mov 0x20(%rsp),%edx"},
	{func(a *Asm) { a.MovSizedRM(R9, R12, 0, 4, false) }, "458b0c24", "mov (%r12),%r9d"},
	{func(a *Asm) { a.MovSizedRM(RAX, RSP, 0x20, 2, true) }, "480fbf442420", "movswq 0x20(%rsp),%rax"},
	{func(a *Asm) { a.MovSizedRM(R8, RBP, 0, 2, false) }, "4c0fb74500", "movzwq 0x0(%rbp),%r8"},
	{func(a *Asm) { a.MovSizedRM(RAX, RCX, 8, 1, true) }, "480fbe4108", "movsbq 0x8(%rcx),%rax"},
	{func(a *Asm) { a.MovSizedRM(RAX, R15, 8, 1, false) }, "490fb64708", "movzbq 0x8(%r15),%rax"},
	{func(a *Asm) { a.MovSizedRR(RAX, RAX, 8, false) }, "4889c0", "mov %rax,%rax"},
	{func(a *Asm) { a.MovSizedRR(RAX, RAX, 4, true) }, "4863c0", "movslq %eax,%rax"},
	{func(a *Asm) { a.MovSizedRR(R10, RDI, 4, true) }, "4c63d7", "movslq %edi,%r10"},
	{func(a *Asm) { a.MovSizedRR(RAX, RAX, 4, false) }, "89c0", "mov %eax,%eax"},
	{func(a *Asm) { a.MovSizedRR(RAX, R9, 4, false) }, "4489c8", "mov %r9d,%eax"},
	{func(a *Asm) { a.MovSizedRR(RAX, RAX, 2, true) }, "480fbfc0", "movswq %ax,%rax"},
	{func(a *Asm) { a.MovSizedRR(RAX, RSI, 2, false) }, "480fb7c6", "movzwq %si,%rax"},
	{func(a *Asm) { a.MovSizedRR(RAX, RSI, 1, true) }, "480fbec6", "movsbq %sil,%rax"},
	{func(a *Asm) { a.MovSizedRR(R11, RAX, 1, false) }, "4c0fb6d8", "movzbq %al,%r11"},
	{func(a *Asm) { l := a.NewLabel(); a.Jcc(CondE, l); a.Bind(l) }, "7400", "je +2"},
	{func(a *Asm) { l := a.NewLabel(); a.Bind(l); a.Jcc(CondG, l) }, "7ffe", "jg +0"},
	{func(a *Asm) { l := a.NewLabel(); a.JccNear(CondNE, l); a.Bind(l) }, "0f8500000000", "jne +6"},
	{func(a *Asm) { a.JccAddr(CondBE, a.Addr()+6+0x1000) }, "0f8600100000", "jbe +1006"},
	{func(a *Asm) { l := a.NewLabel(); a.Bind(l); a.Jmp(l) }, "ebfe", "jmp +0"},
	{func(a *Asm) { l := a.NewLabel(); a.JmpNear(l); a.Bind(l) }, "e900000000", "jmp +5"},
	{func(a *Asm) { a.JmpAddr(a.Addr() + 5 - 0x100) }, "e900ffffff", "jmp -fb"},
	{func(a *Asm) { a.JmpReg(RAX) }, "ffe0", "jmp *%rax"},
	{func(a *Asm) { a.JmpReg(R11) }, "41ffe3", "jmp *%r11"},
	{func(a *Asm) { a.Ret() }, "c3", "ret"},
	{func(a *Asm) { a.Rdtsc() }, "0f31", "rdtsc"},
	{func(a *Asm) { a.Syscall() }, "0f05", "syscall"},
	{func(a *Asm) { a.Lahf() }, "9f", "lahf"},
	{func(a *Asm) { a.Sahf() }, "9e", "sahf"},
	{func(a *Asm) { a.SetO() }, "0f90c0", "seto %al"},
	{func(a *Asm) { a.AddAL(0x7F) }, "047f", "add $0x7f,%al"},
	{func(a *Asm) { a.Pushfq() }, "9c", "pushf"},
	{func(a *Asm) { a.Popfq() }, "9d", "popf"},
	{func(a *Asm) { a.Nop(1) }, "90", "nop"},
	{func(a *Asm) { a.Nop(3) }, "0f1f00", "nopl (%rax)"},
	{func(a *Asm) { a.Nop(4) }, "0f1f4000", "nopl 0x0(%rax)"},
	{func(a *Asm) { a.Nop(5) }, "0f1f440000", "nopl 0x0(%rax,%rax,1)"},
	{func(a *Asm) { a.Nop(6) }, "660f1f440000", "nopw 0x0(%rax,%rax,1)"},
	{func(a *Asm) { a.Nop(7) }, "0f1f8000000000", "nopl 0x0(%rax)"},
	{func(a *Asm) { a.Nop(8) }, "0f1f840000000000", "nopl 0x0(%rax,%rax,1)"},
	{func(a *Asm) { a.Nop(9) }, "660f1f840000000000", "nopw 0x0(%rax,%rax,1)"},
	{func(a *Asm) { a.Raw(0xF3, 0x90) }, "f390", "pause"},
}

// TestEncode holds every encoder against the bytes wanted, and the bytes against this package's decoder.
func TestEncode(t *testing.T) {
	for _, c := range encodings {
		var a Asm
		a.Init(asmBase)
		c.emit(&a)
		if err := a.Finish(); err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got, want := hex.EncodeToString(a.Bytes()), strings.ReplaceAll(c.hex, " ", ""); got != want {
			t.Errorf("%s: %s, want %s", c.text, got, want)
		}
		if in, err := Decode(a.Bytes(), asmBase); err != nil || in.Len != a.Len() {
			t.Errorf("%s: decoded as %d of %d bytes: %v", c.text, in.Len, a.Len(), err)
		}
	}
}

// TestEncodeText lets GNU objdump read everything that was assembled, in one piece.
func TestEncodeText(t *testing.T) {
	needObjdump(t)
	var a Asm
	a.Init(asmBase)
	var starts []uint64
	for _, c := range encodings {
		starts = append(starts, a.Addr())
		c.emit(&a)
	}
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	lines := disassemble(t, a.Bytes(), asmBase)
	if len(lines) != len(encodings) {
		t.Fatalf("objdump reads %d instructions, %d were assembled", len(lines), len(encodings))
	}
	for i, l := range lines {
		got := strings.Join(strings.Fields(l.text), " ")
		if l.dir {
			got = l.mn + " " + signedHex(int64(l.ref-l.addr))
		}
		if l.addr != starts[i] || got != encodings[i].text {
			t.Errorf("%#x: objdump reads %q, want %q at %#x", l.addr, got, encodings[i].text, starts[i])
		}
	}
}

// signedHex writes a distance as the table does.
func signedHex(d int64) string {
	if d < 0 {
		return "-" + strings.TrimLeft(hex.EncodeToString([]byte{byte(-d >> 8), byte(-d)}), "0")
	}
	s := strings.TrimLeft(hex.EncodeToString([]byte{byte(d >> 8), byte(d)}), "0")
	if s == "" {
		s = "0"
	}
	return "+" + s
}

// TestEncodeAllRegisters runs every register pair and several displacements through the forms with memory, against objdump.
func TestEncodeAllRegisters(t *testing.T) {
	needObjdump(t)
	var a Asm
	a.Init(asmBase)
	var want []string
	for r := RAX; r <= R15; r++ {
		for b := RAX; b <= R15; b++ {
			a.MovRM(r, b, 0x12)
			want = append(want, "mov 0x12(%"+b.String()+"),%"+r.String())
			a.CmpMR(b, 0x12345, r)
			want = append(want, "cmp %"+r.String()+",0x12345(%"+b.String()+")")
			a.LockXaddMR(b, -1, r)
			want = append(want, "lock xadd %"+r.String()+",-0x1(%"+b.String()+")")
			a.ImulRR(r, b)
			want = append(want, "imul %"+b.String()+",%"+r.String())
			a.AddRR(r, b)
			want = append(want, "add %"+b.String()+",%"+r.String())
			a.Lea(r, b, 0)
			zero := ""
			if b&7 == RBP {
				zero = "0x0"
			}
			want = append(want, "lea "+zero+"(%"+b.String()+"),%"+r.String())
		}
	}
	for i, l := range disassemble(t, a.Bytes(), asmBase) {
		if got := strings.Join(strings.Fields(l.text), " "); i >= len(want) || got != want[i] {
			t.Fatalf("%#x: objdump reads %q, want %q", l.addr, got, want[min(i, len(want)-1)])
		}
	}
}

// TestLabels checks the choice of short and near forms and the faults that Finish reports.
func TestLabels(t *testing.T) {
	var a Asm
	a.Init(asmBase)
	back := a.NewLabel()
	a.Bind(back)
	a.Nop(126)
	a.Jcc(CondE, back)
	a.Jcc(CondE, back)
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(a.Bytes()[126:]); got != "7480"+"0f847affffff" {
		t.Errorf("backward jumps: %s", got)
	}
	if a.LabelAddr(back) != asmBase {
		t.Errorf("label at %#x", a.LabelAddr(back))
	}
	faults := map[string]func(*Asm){
		"use the near form": func(a *Asm) { l := a.NewLabel(); a.Jmp(l); a.Nop(128); a.Bind(l) },
		"not bound":         func(a *Asm) { a.JmpNear(a.NewLabel()) },
		"out of reach":      func(a *Asm) { a.JmpAddr(asmBase + 1<<33) },
		"shift by 64":       func(a *Asm) { a.ShlRI(RAX, 64) },
		"is no index":       func(a *Asm) { a.LeaIndex(RAX, RAX, RSP, 0) },
		"pointer is no":     func(a *Asm) { a.IncIndexM(RAX, RSP, 0) },
	}
	for want, f := range faults {
		var a Asm
		a.Init(asmBase)
		f(&a)
		if err := a.Finish(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("fault %q: %v", want, err)
		}
	}
	a.Init(asmBase)
	a.JmpAddr(asmBase + 5 + 1<<31)
	var far *RangeError
	if err := a.Finish(); !errors.As(err, &far) || far.To != asmBase+5+1<<31 {
		t.Errorf("one byte too far: %v", err)
	}
	a.Init(asmBase)
	a.JmpAddr(asmBase + 5 + 1<<31 - 1)
	if err := a.Finish(); err != nil {
		t.Errorf("as far as it goes: %v", err)
	}
}
