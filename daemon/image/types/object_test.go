package types

import (
	"debug/elf"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"culprit/daemon/image/debuginfo"
	"culprit/daemon/image/elffile"
	"culprit/internal/require"
)

// An object is what is known of the types of a file, with the functions of its symbol table.
type object struct {
	*Info
	functions []Func
}

// openObject opens a file, which is closed when the test ends.
func openObject(t testing.TB, path string) *object {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		require.Skipf(t, "needs %s: %v", path, err)
	}
	t.Cleanup(func() { r.Close() })
	st, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	o, err := newObject(r, st.Size(), "prog")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func newObject(r io.ReaderAt, size int64, name string) (*object, error) {
	f, err := elffile.Open(r, size, name)
	if err != nil {
		return nil, err
	}
	o := &object{Info: New(f, debuginfo.New(f))}
	o.readSymbols(f)
	if len(o.functions) == 0 && f.DebugFile() != nil {
		o.readSymbols(f.DebugFile())
	}
	return o, nil
}

// readSymbols lists the functions of .symtab.
func (o *object) readSymbols(f *elffile.File) {
	const symbolSize = 24
	tab, names := f.Section(".symtab"), f.Section(".strtab")
	if tab == nil || names == nil {
		return
	}
	for b := tab.Bytes(); len(b) >= symbolSize; b = b[symbolSize:] {
		addr, at := elffile.U64(b[8:]), elffile.U32(b)
		if elf.ST_TYPE(b[4]) != elf.STT_FUNC || addr == 0 || uint64(at) >= uint64(len(names.Bytes())) {
			continue
		}
		name, _, _ := strings.Cut(string(names.Bytes()[at:min(int(at)+4096, len(names.Bytes()))]), "\x00")
		if strings.Contains(name, ".cold") { // a part of another function
			continue
		}
		o.functions = append(o.functions, Func{Name: name, Linkage: name, Addr: addr})
	}
	slices.SortFunc(o.functions, func(a, b Func) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(o.functions, func(a, b Func) int { return int(int64(a.Addr) - int64(b.Addr)) })
	o.functions = slices.CompactFunc(o.functions, func(a, b Func) bool { return a.Addr == b.Addr })
}

// function is the function of a name.
func (o *object) function(t *testing.T, name string) Func {
	t.Helper()
	i := slices.IndexFunc(o.functions, func(f Func) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no function %s", name)
	}
	return o.functions[i]
}
