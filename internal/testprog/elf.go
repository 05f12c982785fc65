package testprog

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A Section is added to an ELF file to see what becomes of whoever reads it.
type Section struct {
	Name  string
	Type  uint32 // SHT_PROGBITS if 0
	Flags uint64
	Addr  uint64
	Data  []byte
	Hole  int64  // zeros behind Data that take no room on the disk
	Same  string // it lies in the file where this one does, and is as large
	Link  string // the section that it refers to
}

const (
	sectionHeader = 64 // sizeof(Elf64_Shdr)
	headerShoff   = 40 // offsets in Elf64_Ehdr
	headerShnum   = 60
)

// WithSections copies an ELF file and gives it more sections; one of a name that is there already takes its place. It returns the path.
func WithSections(t testing.TB, path string, add []Section) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	shoff, n, names := le.Uint64(b[headerShoff:]), int(le.Uint16(b[headerShnum:])), int(le.Uint16(b[headerShnum+2:]))
	table := bytes.Clone(b[shoff : int(shoff)+n*sectionHeader])
	h := table[names*sectionHeader:]
	strs := bytes.Clone(b[le.Uint64(h[24:]) : le.Uint64(h[24:])+le.Uint64(h[32:])])
	index := map[string]int{}
	for i := range n {
		name, _, _ := bytes.Cut(strs[le.Uint32(table[i*sectionHeader:]):], []byte{0})
		index[string(name)] = i
	}
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	defer WritesProgram()()
	f, err := os.OpenFile(out, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	end := int64(len(b))
	write := func(b []byte, hole int64) (at int64) {
		end = (end + 15) &^ 15
		at = end
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
		end += int64(len(b)) + hole
		return at
	}
	for _, s := range add {
		i, ok := index[s.Name]
		if !ok {
			i = len(table) / sectionHeader
			index[s.Name] = i
			table = append(table, make([]byte, sectionHeader)...)
			le.PutUint32(table[i*sectionHeader:], uint32(len(strs)))
			strs = append(append(strs, s.Name...), 0)
		}
		h := table[i*sectionHeader:]
		le.PutUint32(h[4:], max(s.Type, 1))
		le.PutUint64(h[8:], s.Flags)
		le.PutUint64(h[16:], s.Addr)
		if s.Same != "" {
			copy(h[24:40], table[index[s.Same]*sectionHeader+24:])
		} else {
			le.PutUint64(h[24:], uint64(write(s.Data, s.Hole)))
			le.PutUint64(h[32:], uint64(len(s.Data))+uint64(s.Hole))
		}
		if s.Link != "" {
			le.PutUint32(h[40:], uint32(index[s.Link]))
		}
	}
	h = table[names*sectionHeader:]
	le.PutUint64(h[24:], uint64(write(strs, 0)))
	le.PutUint64(h[32:], uint64(len(strs)))
	le.PutUint64(b[headerShoff:], uint64(write(table, 0)))
	le.PutUint16(b[headerShnum:], uint16(len(table)/sectionHeader))
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return out
}

// WritesProgram keeps this process from giving birth until the function that it returns is called. A child that is born while a program is
// written has it open for writing until it executes its own, and as long nobody can execute what was written ("text file busy").
func WritesProgram() (written func()) {
	syscall.ForkLock.RLock()
	return syscall.ForkLock.RUnlock
}

// Flags and types of sections (elf(5)).
const (
	Compressed = 0x800 // SHF_COMPRESSED
	SymTab     = 2     // SHT_SYMTAB
	StrTab     = 3     // SHT_STRTAB
)

// Compress is the contents of a compressed section that claims to have the size of b.
func Compress(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	out.Write(compressionHeader(int64(len(b))))
	w := zlib.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Inflating is the contents of a compressed section that really expands to size zeros, a multiple of 1 MiB.
func Inflating(t testing.TB, size int64) []byte {
	t.Helper()
	var one bytes.Buffer
	w := zlib.NewWriter(&one)
	zeros := make([]byte, 1<<20)
	flush := func() {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	first := one.Len()
	flush()
	again := one.Bytes()[first:] // may be repeated: it refers to zeros before it
	out := append(compressionHeader(size), one.Bytes()[:first]...)
	for range size>>20 - 1 {
		out = append(out, again...)
	}
	return out
}

// compressionHeader is Elf64_Chdr of zlib.
func compressionHeader(size int64) []byte {
	h := make([]byte, 24)
	binary.LittleEndian.PutUint32(h, 1)
	binary.LittleEndian.PutUint64(h[8:], uint64(size))
	binary.LittleEndian.PutUint64(h[16:], 1)
	return h
}
