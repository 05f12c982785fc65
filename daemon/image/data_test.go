package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"culprit/daemon/image/elffile"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

const dataC = `
#include <pthread.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct pair { long a, b; } table[7] = {{1, 2}};
static int counter;
char zeroes[4096];
int bump(void) { pthread_mutex_lock(&lock); counter++; zeroes[counter & 4095]++; pthread_mutex_unlock(&lock); return counter + table[counter % 7].a; }
int main(void) { return bump() & 1; }
`

// checkData holds every variable of a file, as debug/elf lists them, against what the object finds by name and by address.
func checkData(t *testing.T, symbols string, o *Object) int {
	t.Helper()
	f, err := elf.Open(symbols)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range list {
		if elf.ST_TYPE(s.Info) != elf.STT_OBJECT || s.Section == elf.SHN_UNDEF || s.Size == 0 {
			continue
		}
		n++
		for _, at := range []uint64{s.Value, s.Value + s.Size - 1} {
			if d, ok := o.DataAt(at); !ok || d.Addr != s.Value || d.Size != s.Size {
				t.Errorf("%s: at %#x is %+v, %v", s.Name, at, d, ok)
			}
		}
	}
	return n
}

// TestData finds variables by address and by name, in the program itself and through its debug file.
func TestData(t *testing.T) {
	path := testprog.BuildSource(t, dataC, "-g", "-O1", "-pthread")
	o := openFile(t, path, "prog")
	n := checkData(t, path, o)
	want := map[string]uint64{"lock": 40, "table": 7 * 16, "counter": 4, "zeroes": 4096}
	for name, size := range want {
		d, ok := o.DataNamed(name)
		if !ok || d.Size != size || d.Name != name {
			t.Errorf("%s is %+v, %v", name, d, ok)
		}
		if at, ok := o.DataAt(d.Addr + size/2); !ok || at != d {
			t.Errorf("in the middle of %s is %+v, %v", name, at, ok)
		}
	}
	if d, ok := o.DataNamed("no such name"); ok {
		t.Errorf("found %+v", d)
	}
	for _, at := range []uint64{0, 1, ^uint64(0)} {
		if d, ok := o.DataAt(at); ok {
			t.Errorf("at %#x is %+v", at, d)
		}
	}
	t.Logf("%d variables", n)
	if n < len(want) {
		t.Errorf("only %d variables", n)
	}
}

// TestDataOfStripped: a stripped program knows no variables, but with its debug file it knows all.
func TestDataOfStripped(t *testing.T) {
	path := testprog.BuildSource(t, dataC, "-g", "-O1", "-pthread")
	stripped := testprog.Strip(t, path)
	old := elffile.DebugRoot
	elffile.DebugRoot = t.TempDir()
	defer func() { elffile.DebugRoot = old }()
	if d, ok := openFile(t, stripped, "prog").DataNamed("lock"); ok {
		t.Errorf("a stripped program has %+v", d)
	}
	id := openFile(t, path, "prog").BuildID()
	dir := filepath.Join(elffile.DebugRoot, id[:2])
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.Command("objcopy", "--only-keep-debug", path, filepath.Join(dir, id[2:]+".debug")).CombinedOutput(); err != nil {
		require.Skipf(t, "needs objcopy: %s", b)
	}
	if n := checkData(t, path, openFile(t, stripped, "prog")); n < 4 {
		t.Errorf("only %d variables", n)
	}
}

// TestDebugFileOfAnother: a debug file at the right place with another build-id is not believed.
func TestDebugFileOfAnother(t *testing.T) {
	path := testprog.BuildSource(t, dataC, "-g", "-O1", "-pthread")
	other := testprog.BuildSource(t, testprog.SwitchC, "-g", "-O1")
	stripped := testprog.Strip(t, path)
	old := elffile.DebugRoot
	elffile.DebugRoot = t.TempDir()
	defer func() { elffile.DebugRoot = old }()
	id := openFile(t, path, "prog").BuildID()
	at := filepath.Join(elffile.DebugRoot, id[:2], id[2:]+".debug")
	for name, put := range map[string]func() error{
		"another program": func() error { return os.Link(other, at) },
		"no object file":  func() error { return os.WriteFile(at, []byte("text"), 0o600) },
		"a directory":     func() error { return os.Mkdir(at, 0o700) },
		"nothing":         func() error { return nil },
	} {
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		o := openFile(t, stripped, "prog")
		if len(o.Named("bump")) != 0 {
			t.Errorf("%s in place of the debug file gives names", name)
		}
		if err := o.Err(); err != nil {
			t.Errorf("%s in place of the debug file: %v", name, err)
		}
		os.RemoveAll(at)
	}
}

// TestWithoutSections: a program without section headers (sstrip) still has its segments, the exported names of its dynamic
// table are gone, and nothing breaks.
func TestWithoutSections(t *testing.T) {
	path := testprog.BuildSource(t, dataC, "-O1", "-pthread")
	whole := openFile(t, path, "prog")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(b[40:], 0) // e_shoff
	clear(b[58:64])                          // e_shentsize, e_shnum, e_shstrndx
	o, err := Open(bytes.NewReader(b), int64(len(b)), "prog")
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Segments()) != len(whole.Segments()) || len(o.elf.Sections()) == 0 {
		t.Errorf("%d segments and %d sections", len(o.Segments()), len(o.elf.Sections()))
	}
	main := one(t, whole, "main")
	code := whole.elf.ExecAt(main.Addr).Slice(main.Addr, main.Size)
	if s := o.elf.ExecAt(main.Addr); len(code) == 0 || s == nil || !bytes.Equal(s.Slice(main.Addr, main.Size), code) {
		t.Errorf("the code of main is not in an executable section of %+v", o.elf.Sections())
	}
	touch(o)
}

// TestNamesOfKinds: what messages say.
func TestNamesOfKinds(t *testing.T) {
	if elffile.KindExec.String() != "exec" || elffile.KindDyn.String() != "dyn" {
		t.Errorf("%v, %v", elffile.KindExec, elffile.KindDyn)
	}
	if e := (&ErrRefused{Point: "entry of f", Reason: "too short"}).Error(); e != "entry of f refused: too short" {
		t.Errorf("%q", e)
	}
}
