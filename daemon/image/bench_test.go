package image

import (
	"os"
	"testing"

	"culprit/internal/testprog"
)

// BenchmarkTable measures Open to the full function table.
func BenchmarkTable(b *testing.B) {
	for _, c := range []struct{ name, path string }{{"redis", redisPath}, {"libc", testprog.LibcPath}} {
		b.Run(c.name, func(b *testing.B) {
			f, err := os.Open(c.path)
			if err != nil {
				b.Skip(err)
			}
			defer f.Close()
			st, _ := f.Stat()
			for b.Loop() {
				o, err := Open(f, st.Size(), c.name)
				if err != nil || len(o.Functions()) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}
