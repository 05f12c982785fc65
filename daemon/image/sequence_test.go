package image

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestSequences: restartable sequences are found however a program is linked and wherever its descriptors lie; what they bind is their code,
// the end of the instruction before it, and the signature before the handler.
func TestSequences(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(testprog.Root(t), "testdata/odd/percpu.c"))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.c")
	if err := os.WriteFile(elsewhere, bytes.Replace(source, []byte(`__rseq_cs, \"aw\"`), []byte(".data"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"-no-pie", "-fno-pie"}, {"-static"}, {"-static-pie"}, {"-fPIC", "-shared"}, {"-Wl,-z,pack-relative-relocs"}, {"-s"}, {"-s", "-no-pie"}} {
		for _, file := range []string{"testdata/odd/percpu.c", elsewhere} {
			o := openFile(t, testprog.Build(t, file, append([]string{"-pthread"}, flags...)...), "percpu")
			if q := o.sequences(); len(q.aborts) != 3 || len(q.bound) != 6 {
				t.Errorf("%v, %s: %d handlers, %d ranges; want 3 and 6", flags, filepath.Base(file), len(q.aborts), len(q.bound))
			}
		}
	}
	o := openFile(t, testprog.Build(t, "testdata/odd/percpu.c", "-pthread"), "percpu")
	for _, c := range []struct {
		name      string
		at, bytes uint64
		want      bool
	}{
		{"far_add", 0, 7, false},             // lea
		{"far_add", 7, 4, true},              // the store that ends where the sequence begins
		{"far_add", 11, 3, true},             // its first instruction
		{"far_add", 25, 4, true},             // the commit
		{"far_add", 29, 5, false},            // behind it
		{"far_aborted", ^uint64(3), 4, true}, // the signature
		{"far_aborted", 0, 2, false},
	} {
		f := o.Named(c.name)[0]
		if got := o.InSequence(f.Addr+c.at, f.Addr+c.at+c.bytes); got != c.want {
			t.Errorf("%s+%d: %v", c.name, int64(c.at), got)
		}
	}
}

// TestSequencesWithoutSections: a program with fixed addresses tells of its sequences without any section headers.
func TestSequencesWithoutSections(t *testing.T) {
	b, err := os.ReadFile(testprog.Build(t, "testdata/odd/percpu.c", "-pthread", "-s", "-no-pie"))
	if err != nil {
		t.Fatal(err)
	}
	clear(b[0x28:0x30]) // e_shoff
	clear(b[0x3c:0x40]) // e_shnum, e_shstrndx
	o, err := Open(bytes.NewReader(b), int64(len(b)), "percpu")
	if err != nil {
		t.Fatal(err)
	}
	if q := o.sequences(); len(q.aborts) != 3 || len(q.bound) != 6 {
		t.Errorf("%d handlers, %d ranges; want 3 and 6", len(q.aborts), len(q.bound))
	}
}

// TestSignatureIsNoCode: the instructions behind a signature that is among those of a function are decoded as they are run.
func TestSignatureIsNoCode(t *testing.T) {
	o := openFile(t, testprog.Build(t, "testdata/odd/percpu.c", "-pthread"), "percpu")
	w, err := o.Flow(o.Named("near_add")[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Exits) != 1 || w.Exits[0].Kind != ExitRet {
		t.Errorf("exits %v, want a return", w.Exits)
	}
	handler := o.sequences().aborts[slices.IndexFunc(o.sequences().aborts, w.In)]
	if w.At(handler) == nil || !w.Targets.Has(handler) {
		t.Errorf("no instruction begins at the handler %#x, or nothing leads there", handler)
	}
}

// TestNoSequences: programs without any have none.
func TestNoSequences(t *testing.T) {
	for _, name := range []string{"libc.so.6", "libstdc++.so.6", "redis-server", "go"} {
		if o := openFile(t, require.Object(t, name), name); len(o.sequences().bound) != 0 {
			t.Errorf("%s: %x", name, o.sequences().bound)
		}
	}
}
