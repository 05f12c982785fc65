package attack

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
)

// mutate makes an ELF file hostile. What the program needs to run stays as it is unless the kind says otherwise.
//
//	flipped   bits of what is not loaded are flipped: debugging information, symbols, section headers
//	names     names are full of escape sequences and bytes that are no UTF-8
//	headers   bits of the headers are flipped: it does not run any more
//	cut       it ends somewhere in the middle
//	inflated  its debugging information is compressed, and is 256 MiB a section once it is not
func mutate(t *testing.T, rng *rand.Rand, original []byte, kind string) []byte {
	b := bytes.Clone(original)
	loaded := endOfLoaded(t, b)
	switch kind {
	case "flipped":
		headers := int(binary.LittleEndian.Uint64(b[40:])) // e_shoff
		for range 1 + rng.IntN(200) {
			flip(rng, b[loaded:])
			if rng.IntN(4) == 0 && headers < len(b) {
				flip(rng, b[headers:])
			}
		}
	case "names":
		hostile := []string{"\x1b[2J", "\x1b]0;x\a", "\xe2\x80\xae", "\xff\xfe", "\r", "\x9b31m"}
		for _, s := range sections(t, b, ".strtab", ".debug_str", ".debug_line_str") {
			for i := 0; i+16 < len(s); i += 8 + rng.IntN(64) {
				if h := hostile[rng.IntN(len(hostile))]; !bytes.Contains(s[i:i+len(h)], []byte{0}) {
					copy(s[i:], h)
				}
			}
		}
	case "headers":
		for range 1 + rng.IntN(8) {
			flip(rng, b[16:64+56*12])
		}
	case "cut":
		b = b[:rng.IntN(len(b))]
	case "inflated":
		b = inflated(t, b)
	}
	return b
}

func flip(rng *rand.Rand, b []byte) { b[rng.IntN(len(b))] ^= 1 << rng.IntN(8) }

// endOfLoaded is the offset behind which nothing of the file is mapped by the kernel.
func endOfLoaded(t *testing.T, b []byte) (end uint64) {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		end = max(end, p.Off+p.Filesz)
	}
	return end
}

// sections are the bytes of sections, to be changed.
func sections(t *testing.T, b []byte, names ...string) (out [][]byte) {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if s := f.Section(name); s != nil {
			out = append(out, b[s.Offset:s.Offset+s.FileSize])
		}
	}
	return out
}

// The zeros are compressed well; a file of this size hides it.
const (
	claimed = 256 << 20
	padding = 8 << 20
)

// zeros is that much of nothing, compressed.
var zeros = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	for range claimed >> 20 {
		_, _ = w.Write(make([]byte, 1<<20)) // a buffer takes all
	}
	w.Close()
	return out.Bytes()
})

// inflated has all sections of debugging information share one piece of compressed zeros at the end of the file.
func inflated(t *testing.T, b []byte) []byte {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	at := uint64(len(b))
	head := le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, uint64(elf.COMPRESS_ZLIB)), claimed), 1)
	b = append(append(append(b, head...), zeros()...), make([]byte, padding)...)
	first := le.Uint64(b[40:])
	for i, s := range f.Sections {
		if len(s.Name) > 7 && s.Name[:7] == ".debug_" {
			h := b[first+64*uint64(i):]
			le.PutUint64(h[8:], le.Uint64(h[8:])|uint64(elf.SHF_COMPRESSED))
			le.PutUint64(h[24:], at)
			le.PutUint64(h[32:], uint64(len(b))-at)
		}
	}
	return b
}

func mustRead(t *testing.T, path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
