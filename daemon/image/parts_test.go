package image

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/require"
)

// partsC has variables of every kind in two source files; TWO is the second of them.
const partsC = `
#include <pthread.h>
#ifdef TWO
static pthread_mutex_t twin = PTHREAD_MUTEX_INITIALIZER;
void *second(void) { return &twin; }
#else
typedef pthread_mutex_t lock_t;
struct pair { long n; lock_t lock; };
struct { int kind; union { struct pair left; long raw; }; struct pair many[3]; } box;
struct pair grid[2][2];
static pthread_mutex_t twin = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *hidden(void) { static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; return &lock; }
static pthread_mutex_t *other(void) { static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; return &lock; }
extern void *second(void);
int main(int n, char **v) { return pthread_mutex_lock(hidden()) + pthread_mutex_lock(other()) + (second() == (void *)&twin) + !v[n - 1]; }
#endif
`

// buildParts compiles partsC as two source files.
func buildParts(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		require.Skipf(t, "needs gcc to compile the program under test")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "prog")
	for name, text := range map[string]string{"one.c": partsC, "two.c": "#define TWO\n" + partsC} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := exec.Command("gcc", "-g", "-O1", "-o", out, filepath.Join(dir, "one.c"), filepath.Join(dir, "two.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return out
}

// TestParts finds parts of variables by address and by name, both ways.
func TestParts(t *testing.T) {
	o := openFile(t, buildParts(t), "prog")
	box, ok := o.DataNamed("box")
	if !ok {
		t.Fatal("there is no box")
	}
	for off, name := range map[uint64]string{8: "box.left.n", 16: "box.left.lock", 64: "box.many[0].lock", 112: "box.many[1].lock", 104: "box.many[1].n"} {
		got, ok := o.PartAt(box.Addr + off)
		if !ok || got.Rest != 0 || got.Name != name || got.Lock != strings.HasSuffix(name, "lock") {
			t.Errorf("%d bytes inside of box is %+v, want %q", off, got, name)
		}
		if at, ok := o.PartNamed(name); !ok || at != box.Addr+off {
			t.Errorf("%q is at %#x, want %#x", name, at, box.Addr+off)
		}
	}
	if got, ok := o.PartAt(box.Addr + 20); !ok || got != (Part{"box.left.lock", 4, true}) {
		t.Errorf("inside of a lock is %+v", got)
	}
	for _, name := range []string{"hidden::lock", "other::lock", "one.c:twin", "two.c:twin"} {
		at, ok := o.PartNamed(name)
		if got, found := o.PartAt(at); !ok || !found || got != (Part{Name: name, Lock: true}) {
			t.Errorf("%q is at %#x, which is %+v", name, at, got)
		}
	}
	for _, name := range []string{"box.left.nothing", "box.many[3]", "box.many[-1]", "box[0]", "box.", "box.kind.more", "twin", "hidden::other", "[0]", "", ".", "box.many[1", "grid[1][1]"} {
		if at, ok := o.PartNamed(name); ok {
			t.Errorf("%q is at %#x", name, at)
		}
	}
}

// TestPartsWithoutDwarf: whole variables have their names, parts a distance.
func TestPartsWithoutDwarf(t *testing.T) {
	path := buildParts(t)
	if b, err := exec.Command("strip", "-g", path).CombinedOutput(); err != nil {
		require.Skipf(t, "needs strip: %s", b)
	}
	o := openFile(t, path, "prog")
	box, _ := o.DataNamed("box")
	if got, ok := o.PartAt(box.Addr + 16); !ok || got != (Part{Name: "box", Rest: 16}) {
		t.Errorf("%+v", got)
	}
	if at, ok := o.PartNamed("box.left"); ok {
		t.Errorf("box.left is at %#x", at)
	}
	if at, ok := o.PartNamed("twin#2"); !ok || at == 0 { // strip takes the names of source files as well
		t.Error("the other twin is not found")
	}
}

// TestPartsOfDamaged: types that contain themselves, and offsets that lead nowhere, end.
func TestPartsOfDamaged(t *testing.T) {
	path := buildParts(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	headers, err := elf.NewFile(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	info := headers.Section(".debug_info")
	n := 0
	for at := info.Offset; at+8 < info.Offset+info.FileSize; at += 7 {
		b := append([]byte{}, whole...)
		copy(b[at:], []byte{0xff, 0x01, 0x80, 0x00})
		d, err := Open(bytes.NewReader(b), int64(len(b)), "prog")
		if err != nil {
			continue
		}
		n++
		for _, s := range d.dataSymbols() {
			p, _ := d.PartAt(s.Addr + 8)
			d.PartNamed(p.Name)
			d.PartNamed(fmt.Sprintf("%s[0].lock", s.Name))
		}
	}
	t.Logf("%d damaged files", n)
	if n < 10 {
		t.Error("too few")
	}
}
