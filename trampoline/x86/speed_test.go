package x86

import (
	"testing"
	"time"

	"culprit/internal/require"
)

// aimPerSecond is how many instructions a second one processor has to decode.
const aimPerSecond = 10e6

// libcText is the code of the C library.
func libcText(t testing.TB) []byte {
	t.Helper()
	for _, s := range textSections(t, require.Object(t, "libc.so.6")) {
		if s.name == ".text" {
			return s.data
		}
	}
	t.Fatal("libc.so.6 has no .text")
	return nil
}

// decodeEach decodes all of the code and returns how many instructions it holds.
func decodeEach(t testing.TB, code []byte) (n int) {
	for off := 0; off < len(code); n++ {
		in, err := Decode(code[off:], uint64(off))
		if err != nil {
			t.Fatal(err)
		}
		off += in.Len
	}
	return n
}

// sum adds up all bytes: what it costs to look at each of them once.
func sum(code []byte) (n int) {
	for _, b := range code {
		n += int(b)
	}
	return n
}

// fastest is the shortest of some times that f takes: others may need the processors, too.
func fastest(rounds int, f func()) time.Duration {
	best := time.Hour
	for range rounds {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

// TestDecodeIsFast holds how long the analysis of a large program may take.
func TestDecodeIsFast(t *testing.T) {
	code := libcText(t)
	n := 0
	decode := fastest(25, func() { n = decodeEach(t, code) })
	total := 0
	limit := fastest(25, func() { total = sum(code) })
	rate := float64(n) / decode.Seconds()
	t.Logf("%d instructions in %v: %.1f million a second, %.0f MB/s; adding up the %d bytes (%d) takes %v, %.0f MB/s", n, decode, rate/1e6,
		float64(len(code))/1e6/decode.Seconds(), len(code), total, limit, float64(len(code))/1e6/limit.Seconds())
	if rate < aimPerSecond {
		t.Errorf("%.1f million instructions a second, want %.0f", rate/1e6, aimPerSecond/1e6)
	}
}

// BenchmarkDecode decodes the C library again and again; one operation is one instruction.
func BenchmarkDecode(b *testing.B) {
	code := libcText(b)
	b.ReportAllocs()
	off := 0
	for b.Loop() {
		in, err := Decode(code[off:], uint64(off))
		if err != nil {
			b.Fatal(err)
		}
		if off += in.Len; off >= len(code) {
			off = 0
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Minstr/s")
}

// BenchmarkByteSum is the limit that memory and a loop over bytes set; one operation is one pass.
func BenchmarkByteSum(b *testing.B) {
	code := libcText(b)
	b.SetBytes(int64(len(code)))
	n := 0
	for b.Loop() {
		n += sum(code)
	}
	if n == 0 {
		b.Fatal("the code is all zeros")
	}
}

// TestCommonIsGeneral: what is decoded on the short way is what the general decoder makes of it, in all of the C library, with
// every opcode and ModRM byte of the two maps behind every REX, and how much of compiled code goes that way.
func TestCommonIsGeneral(t *testing.T) {
	code := libcText(t)
	n, common := 0, 0
	for off := 0; off+MaxLen <= len(code); n++ {
		in, err := decode(code[off:], uint64(off))
		if err != nil {
			t.Fatal(err)
		}
		compareCommon(t, code[off:], uint64(off), &common)
		off += in.Len
	}
	t.Logf("%d of %d instructions are common: %.1f %%", common, n, 100*float64(common)/float64(n))
	if float64(common) < 0.85*float64(n) {
		t.Error("too few")
	}
	tail := []byte{0x65, 0xF0, 0x90, 0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF1, 0x23}
	for rex := range 17 {
		for op := range 512 {
			for modrm := range 256 {
				code := make([]byte, 0, 2*MaxLen)
				if rex < 16 {
					code = append(code, byte(0x40+rex))
				}
				if op >= 256 {
					code = append(code, 0x0F)
				}
				code = append(append(code, byte(op), byte(modrm)), tail...)
				compareCommon(t, append(code, tail...), 0x1234567890, &common)
			}
		}
	}
}

// compareCommon holds the short way against the general one.
func compareCommon(t *testing.T, code []byte, pc uint64, common *int) {
	t.Helper()
	var short Inst
	if !short.common((*[MaxLen]byte)(code), pc) {
		return
	}
	*common++
	if in, err := decode(code, pc); err != nil || in != short {
		t.Fatalf("% x: %+v, the general decoder: %+v, %v", code[:MaxLen], short, in, err)
	}
}
