package x86

import (
	"encoding/hex"
	"strings"
	"testing"
)

// decoded are the instructions of a text of hexadecimal digits, and its bytes.
func decoded(t *testing.T, text string) (insts []Inst, code []byte) {
	t.Helper()
	code, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	for off := 0; off < len(code); {
		in, err := Decode(code[off:], uint64(off))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		insts = append(insts, in)
		off += in.Len
	}
	return insts, code
}

func TestExpects(t *testing.T) {
	cases := []struct {
		name, code   string
		flags, below bool
	}{
		{"sbb %rax,%rax; ret", "4819c0 c3", true, false},
		{"mov %rdi,%rax; adc $0,%rax", "4889f8 4883d000", true, false},
		{"endbr64; setb %al", "f30f1efa 0f92c0", true, false},
		{"jb", "7205", true, false},
		{"cmovne %rcx,%rax", "480f45c1", true, false},
		{"20 mov; adc", strings.Repeat("4889f8", 20) + "4811c0", true, false},
		{"20 mov; add", strings.Repeat("4889f8", 20) + "4801c0", false, false},
		{"31 mov; add", strings.Repeat("4889f8", 31) + "4801c0", false, false},
		{"32 mov: nothing says so", strings.Repeat("4889f8", 32), true, false},
		{"100 mov: nothing says so", strings.Repeat("4889f8", 100), true, false},
		{"31 mov and an end that is not known", strings.Repeat("4889f8", 31), false, false},
		{"inc keeps the carry; jb", "48ffc0 7200", true, false},
		{"inc; jne", "48ffc0 7500", false, false},
		{"dec; ja reads both", "48ffc8 7700", true, false},
		{"test; jne", "85ff 7510", false, false},
		{"xor; sbb", "31c0 4819c0", false, false},
		{"sar $3,%rdi; je", "48c1ff03 7410", false, false},
		{"rcl %rax", "48d1d0", true, false},
		{"cpuid is not known to keep flags; jb", "0fa2 7200", false, false},
		{"behind a call nothing is told", "e800000000 7200", false, false},
		{"push %rbx; mov %rdi,%rbx; pushf", "53 4889fb 9c", true, false},
		{"adcx %rax,%rax", "66480f38f6c0", true, false},
		{"cmc", "f5", true, false},
		{"mov -8(%rsp),%rax", "488b4424f8", false, true},
		{"mov %rdi,-8(%rsp); mov -8(%rsp),%rax", "48897c24f8 488b4424f8", false, false},
		{"movups %xmm0,-24(%rsp); mov -16(%rsp),%rax", "0f114424e8 488b4424f0", false, false},
		{"movq -8(%rsp),%xmm0", "f30f7e4424f8", false, true},
		{"add %rdi,-200(%rsp)", "4801bc2438ffffff", false, true},
		{"sub $24,%rsp; mov 8(%rsp),%rax", "4883ec18 488b442408", false, true},
		{"sub $24,%rsp; mov 32(%rsp),%rax is an argument", "4883ec18 488b442420", false, false},
		{"push %rbp; mov (%rsp),%rax", "55 488b0424", false, false},
		{"push %rbp; pop %rbp", "55 5d", false, false},
		{"and $-16,%rsp; mov -8(%rsp),%rax is not known", "4883e4f0 488b4424f8", false, false},
		{"mov %rdi,%rsp; mov -8(%rsp),%rax is another stack", "4889fc 488b4424f8", false, false},
		{"lea -8(%rsp),%rax", "488d4424f8", false, false},
		{"mov -8(%r12),%rax", "498b4424f8", false, false},
		{"mov %fs:-8(%rsp),%rax", "64488b4424f8", false, false},
		{"xor %ebx,%esp: another stack", "31dc 488b4424f8", false, false},
		{"ret", "c3", false, false},
	}
	for _, c := range cases {
		if is, want := Expects(decoded(t, c.code)), (Live{c.flags, c.below}); is != want {
			t.Errorf("%s: %+v, want %+v", c.name, is, want)
		}
	}
}

func TestLeavesFlags(t *testing.T) {
	cases := []struct {
		name, code string
		want       bool
	}{
		{"cmp %rsi,%rdi", "4839f7", true},
		{"stc", "f9", true},
		{"bt $0,%rdi; mov %rdi,%rax", "480fbae700 4889f8", true},
		{"test; pop %rbx", "85ff 5b", true},
		{"test; lea 8(%rsp),%rsp", "85ff 488d642408", true},
		{"cmp; sete %al", "4839f7 0f94c0", false},
		{"cmp; cmovb %rsi,%rax", "4839f7 480f42c6", false},
		{"cmp; sbb %eax,%eax", "4839f7 19c0", false},
		{"cmp; add $8,%rsp", "4839f7 4883c408", false},
		{"xor %eax,%eax", "31c0", false},
		{"add %rdi,%rax; mov", "4801f8 4889f8", false},
		{"cmp; sete %al; test", "4839f7 0f94c0 85ff", true},
		{"nothing", "", false},
	}
	for _, c := range cases {
		if is := LeavesFlags(decoded(t, c.code)); is != c.want {
			t.Errorf("%s: %v", c.name, is)
		}
	}
}

func TestStoresBelow(t *testing.T) {
	insts, code := decoded(t, "48897c24f8")
	if !insts[0].StoresBelow(code) {
		t.Error("mov %rdi,-8(%rsp) writes below the stack pointer")
	}
	insts, code = decoded(t, "488b4424f8")
	if insts[0].StoresBelow(code) {
		t.Error("mov -8(%rsp),%rax does not write")
	}
}
