package x86

import "testing"

func TestDead(t *testing.T) {
	cases := []struct {
		name  string
		code  []byte
		regs  RegSet
		flags bool
	}{
		{"ret", []byte{0xC3}, 0, true},
		{"call f", []byte{0xE8, 0, 0, 0, 0}, 0, true},
		{"jne", []byte{0x75, 0x10}, 0, false},
		{"mov $1,%eax; ret", []byte{0xB8, 1, 0, 0, 0, 0xC3}, 1 << RAX, true},
		{"xor %eax,%eax; adc %rcx,%rcx", []byte{0x31, 0xC0, 0x48, 0x11, 0xC9}, 1 << RAX, true},
		{"adc %rcx,%rcx; xor %eax,%eax", []byte{0x48, 0x11, 0xC9, 0x31, 0xC0}, 0, false},
		{"mov %rax,%rcx; xor %eax,%eax; cmp %rdx,%rdx", []byte{0x48, 0x89, 0xC1, 0x31, 0xC0, 0x48, 0x39, 0xD2}, 1 << RCX, true},
		{"mov (%rdx,%rcx),%rcx; mov $0,%edx; ret", []byte{0x48, 0x8B, 0x0C, 0x0A, 0xBA, 0, 0, 0, 0, 0xC3}, 0, true},
		{"mov 8(%r12),%ecx; jmp", []byte{0x41, 0x8B, 0x4C, 0x24, 8, 0xEB, 0}, 1 << RCX, false},
		{"mov %al,%cl keeps the rest of rcx", []byte{0x88, 0xC1, 0xB9, 0, 0, 0, 0, 0xC3}, 0, true},
		{"movzbl %ah,%ecx; mov $0,%eax", []byte{0x0F, 0xB6, 0xCC, 0xB8, 0, 0, 0, 0}, 1 << RCX, false},
		{"mov $1,%ax is half a write", []byte{0x66, 0xB8, 1, 0, 0xC3}, 0, true},
		{"cmovne %rcx,%rax", []byte{0x48, 0x0F, 0x45, 0xC1}, 0, false},
		{"push %rcx; pop %rdx; pop %rcx", []byte{0x51, 0x5A, 0x59}, 1 << RDX, false},
		{"inc %rax keeps the carry; jb", []byte{0x48, 0xFF, 0xC0, 0x72, 0}, 0, false},
		{"shl %cl,%rax may do nothing; test", []byte{0x48, 0xD3, 0xE0, 0x48, 0x85, 0xC0}, 0, true},
		{"lea (%rip),%rdx; comisd; ret", []byte{0x48, 0x8D, 0x15, 0, 0, 0, 0, 0x66, 0x0F, 0x2F, 0xC1}, 1 << RDX, true},
		{"syscall", []byte{0x0F, 0x05}, 0, false},
		{"mov %r8,%rax: the other half of the registers", []byte{0x4C, 0x89, 0xC0, 0xC3}, 1 << RAX, true},
	}
	for _, c := range cases {
		var insts []Inst
		for off := 0; off < len(c.code); {
			in, err := Decode(c.code[off:], uint64(off))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			insts = append(insts, in)
			off += in.Len
		}
		if regs, flags := Dead(insts, c.code); regs != c.regs || flags != c.flags {
			t.Errorf("%s: registers %016b, flags %v; want %016b, %v", c.name, regs, flags, c.regs, c.flags)
		}
	}
}
