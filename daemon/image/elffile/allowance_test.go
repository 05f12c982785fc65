package elffile

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// openPath opens a file, which is closed when the test ends.
func openPath(t testing.TB, path string) *File {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	st, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(r, st.Size(), "prog")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// settled is what is taken when what earlier tests have left is given back.
func settled() (taken int64) {
	for calm := 0; calm < 20; calm++ {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
		if is := used.Load(); is != taken {
			taken, calm = is, 0
		}
	}
	return taken
}

// TestAllowance: what one file takes is given back when nobody has it any more, and no file gets all of it.
func TestAllowance(t *testing.T) {
	path := testprog.WithSections(t, testprog.BuildSource(t, testprog.SwitchC), []testprog.Section{{Name: ".debug_str", Data: make([]byte, 8<<20)}})
	was := settled()
	func() {
		f := openPath(t, path)
		if b := f.DebugSection(".debug_str"); len(b) != 8<<20 || used.Load()-was < 8<<20 {
			t.Errorf("%d bytes were read, %d taken", len(b), used.Load()-was)
		}
		runtime.KeepAlive(f)
	}()
	for deadline := time.Now().Add(5 * time.Second); used.Load()-was >= 8<<20; time.Sleep(10 * time.Millisecond) {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatal("it is not given back")
		}
	}
	old := allowed
	defer func() { allowed = old }()
	allowed = used.Load() + 12<<20
	f := openPath(t, path)
	told := ""
	f.OnLeftOut(func(text string) { told += text })
	if b := f.DebugSection(".debug_str"); b != nil || !strings.Contains(told, "debug information of prog was not read") {
		t.Errorf("%d bytes were read; told %q", len(b), told)
	}
}

// FuzzNotes feeds arbitrary bytes to the reader of notes.
func FuzzNotes(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x04\x00\x00\x00\x03\x00\x00\x00GNU\x00abcd"))
	f.Fuzz(func(t *testing.T, b []byte) { buildIDOf(b) })
}
