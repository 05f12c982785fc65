package x86

import "testing"

func TestTouches(t *testing.T) {
	cases := []struct {
		name                string
		code                []byte
		touches, overwrites bool
	}{
		{"mov %ecx,%r10d", []byte{0x41, 0x89, 0xCA}, true, true},
		{"mov 0x1c(%rsp),%r10d", []byte{0x44, 0x8B, 0x54, 0x24, 0x1C}, true, true},
		{"mov $8,%r10d", []byte{0x41, 0xBA, 8, 0, 0, 0}, true, true},
		{"mov (%r10),%r10", []byte{0x4D, 0x8B, 0x12}, true, false},
		{"mov $8,%r10w", []byte{0x66, 0x41, 0xBA, 8, 0}, true, false},
		{"mov %r10,%rax", []byte{0x4C, 0x89, 0xD0}, true, false},
		{"mov 8(%rax,%r10,2),%rcx", []byte{0x4A, 0x8B, 0x4C, 0x50, 8}, true, false},
		{"push %r10", []byte{0x41, 0x52}, true, false},
		{"xchg %rax,%r10", []byte{0x49, 0x92}, true, false},
		{"bswap %r10", []byte{0x49, 0x0F, 0xCA}, true, false},
		{"call *%r10", []byte{0x41, 0xFF, 0xD2}, true, false},
		{"jmp *(%r10)", []byte{0x41, 0xFF, 0x22}, true, false},
		{"cmp $-0x1000,%rax", []byte{0x48, 0x3D, 0, 0xF0, 0xFF, 0xFF}, false, false},
		{"neg %eax", []byte{0xF7, 0xD8}, false, false},
		{"mov %eax,%fs:(%rdx)", []byte{0x64, 0x89, 0x02}, false, false},
		{"mov %r8d,%edi", []byte{0x44, 0x89, 0xC7}, false, false},
		{"mov %rdx,%rsp: the number of r10 without its prefix", []byte{0x48, 0x89, 0xD4}, false, false},
		{"push %rdx", []byte{0x52}, false, false},
		{"lock cmpxchg %edx,(%rdi)", []byte{0xF0, 0x0F, 0xB1, 0x17}, false, false},
		{"ja", []byte{0x77, 0x02}, false, false},
		{"call", []byte{0xE8, 0, 0, 0, 0}, false, false},
		{"ret", []byte{0xC3}, false, false},
		{"syscall takes it as its fourth argument", []byte{0x0F, 0x05}, true, false},
		{"vzeroupper: not looked into", []byte{0xC5, 0xF8, 0x77}, true, false},
		{"movbe (%rax),%ecx: not looked into", []byte{0x0F, 0x38, 0xF0, 0x08}, true, false},
	}
	for _, c := range cases {
		in, err := Decode(c.code, 0x1000)
		if err != nil || in.Len != len(c.code) {
			t.Fatalf("%s: %+v, %v", c.name, in, err)
		}
		if touches, overwrites := in.Touches(R10, c.code); touches != c.touches || overwrites != c.overwrites {
			t.Errorf("%s: touches %v, overwrites %v", c.name, touches, overwrites)
		}
	}
}
