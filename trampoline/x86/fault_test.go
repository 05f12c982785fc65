package x86

import "testing"

// TestMayFault: operands that may not be there are told from the stack, own data and what only looks like memory.
func TestMayFault(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
		want Fault
	}{
		{"mov (%rdi),%rax", []byte{0x48, 0x8b, 0x07}, FaultMemory},
		{"mov %rax,0x10(%rbx)", []byte{0x48, 0x89, 0x43, 0x10}, FaultMemory},
		{"mov (%r12),%rax", []byte{0x49, 0x8b, 0x04, 0x24}, FaultMemory},
		{"mov 0(%r13),%rax", []byte{0x49, 0x8b, 0x45, 0x00}, FaultMemory},
		{"mov (%rax,%rcx,8),%rax", []byte{0x48, 0x8b, 0x04, 0xc8}, FaultMemory},
		{"mov 0x1000(,%rax,8),%rax", []byte{0x48, 0x8b, 0x04, 0xc5, 0, 0x10, 0, 0}, FaultMemory},
		{"movzbl (%r12),%eax", []byte{0x41, 0x0f, 0xb6, 0x04, 0x24}, FaultMemory},
		{"vmovdqu (%rsi),%ymm0", []byte{0xc5, 0xfe, 0x6f, 0x06}, FaultMemory},
		{"rep movsb", []byte{0xf3, 0xa4}, FaultMemory},
		{"jmp *(%rax)", []byte{0xff, 0x20}, FaultMemory},
		{"idiv %rsi", []byte{0x48, 0xf7, 0xfe}, FaultDivide},
		{"divl (%rdi)", []byte{0xf7, 0x37}, FaultDivide | FaultMemory},
		{"mov 8(%rsp),%rax", []byte{0x48, 0x8b, 0x44, 0x24, 0x08}, 0},
		{"mov -8(%rbp),%rax", []byte{0x48, 0x8b, 0x45, 0xf8}, 0},
		{"mov 8(%rip),%rax", []byte{0x48, 0x8b, 0x05, 8, 0, 0, 0}, 0},
		{"mov %fs:0x28,%rax", []byte{0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}, 0},
		{"lea (%rdi),%rax", []byte{0x48, 0x8d, 0x07}, 0},
		{"nopw (%rax,%rax)", []byte{0x66, 0x0f, 0x1f, 0x44, 0, 0}, 0},
		{"prefetcht0 (%rdi)", []byte{0x0f, 0x18, 0x0f}, 0},
		{"endbr64", []byte{0xf3, 0x0f, 0x1e, 0xfa}, 0},
		{"push %rbx", []byte{0x53}, 0},
		{"mul %rsi", []byte{0x48, 0xf7, 0xe6}, 0},
		{"mov %rdi,%rax", []byte{0x48, 0x89, 0xf8}, 0},
	} {
		in, err := Decode(c.code, 0x1000)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := in.MayFault(c.code); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
