package libc

import (
	"bytes"
	"encoding/binary"
)

// SetsIP reports whether the code of SetIP is libgcc's: mov %rsi,OFFSET(%rdi); ret.
func SetsIP(code []byte) bool {
	_, ok := accesses(code, []byte{0x48, 0x89, 0xb7})
	return ok
}

// CFAAt is where the unwinder's context has the stack pointer of the frame, by the code of GetCFA: mov OFFSET(%rdi),%rax; ret.
func CFAAt(code []byte) (offset int32, ok bool) { return accesses(code, []byte{0x48, 0x8b, 0x87}) }

// accesses is the offset of a function that does nothing but one access to memory behind its first argument, whose code begins with op.
func accesses(code, op []byte) (offset int32, ok bool) {
	code = bytes.TrimPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
	if len(code) != 8 || !bytes.HasPrefix(code, op) || code[7] != 0xc3 {
		return 0, false
	}
	return int32(binary.LittleEndian.Uint32(code[3:])), true
}

// unmangling is how glibc's longjmp gets the stack pointer: it is loaded from the buffer and freed from what setjmp has done to it
// (sysdeps/x86_64/__longjmp.S).
var unmangling = [][]byte{
	{0x4c, 0x8b, 0x47, 0x30},                               // mov 0x30(%rdi),%r8
	{0x49, 0xc1, 0xc8, 0x11},                               // ror $0x11,%r8
	{0x64, 0x4c, 0x33, 0x04, 0x25, 0x30, 0x00, 0x00, 0x00}, // xor %fs:0x30,%r8
}

// MaxUnmangling is in how many bytes of code that is.
const MaxUnmangling = 64

// Unmangles reports whether code, of which MaxUnmangling bytes are enough, is the beginning of what glibc's longjmp calls to jump.
func Unmangles(code []byte) bool {
	for _, in := range unmangling {
		if !bytes.Contains(code, in) {
			return false
		}
	}
	return true
}
