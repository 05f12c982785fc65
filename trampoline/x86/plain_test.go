package x86

import (
	"math/rand/v2"
	"testing"
)

// TestPlain compares Plain with Decode: at each byte of the C library's code, whether an instruction begins there or not, and for random
// bytes with what compilers use most at their beginning.
func TestPlain(t *testing.T) {
	code := libcText(t)
	plain, starts := 0, 0
	for off := 0; off < len(code); off++ {
		agree(t, code[off:])
	}
	for off := 0; off < len(code); starts++ {
		in, err := Decode(code[off:], uint64(off))
		if err != nil {
			t.Fatal(err)
		}
		if Plain(code[off:]) > 0 {
			plain++
		}
		off += in.Len
	}
	t.Logf("%d of %d instructions are plain", plain, starts)
	if plain < starts/2 {
		t.Error("hardly any instruction is plain")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var b [MaxLen + 1]byte
	for range 1_000_000 {
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		if random.IntN(2) == 0 {
			b[0] = 0x40 | b[0]&0xF
		}
		if random.IntN(4) == 0 {
			b[1] = 0x0F
		}
		agree(t, b[:])
	}
}

// agree checks that what is plain is what Decode says, and that it goes on to the next instruction.
func agree(t *testing.T, code []byte) {
	t.Helper()
	n := Plain(code)
	if n == 0 {
		return
	}
	in, err := Decode(code, 0x1000)
	if err != nil || in.Len != n || in.Flow != FlowNext || in.RIPOff != 0 || in.RelOff != 0 || in.Nop || in.Endbr {
		t.Fatalf("% x: %d bytes, and Decode says %+v, %v", code[:min(len(code), MaxLen)], n, in, err)
	}
}

// BenchmarkPlain goes through the C library as a search for references does; one operation is one instruction.
func BenchmarkPlain(b *testing.B) {
	code := libcText(b)
	off := 0
	for b.Loop() {
		n := Plain(code[off:])
		if n == 0 {
			in, err := Decode(code[off:], uint64(off))
			if err != nil {
				b.Fatal(err)
			}
			n = in.Len
		}
		if off += n; off >= len(code) {
			off = 0
		}
	}
}
