package image

import (
	"debug/elf"
	"debug/gosym"
	"testing"

	"culprit/daemon/image/elffile"
	"culprit/internal/testprog"
)

// TestGoTableAgrees: the function table of a Go program is read as debug/gosym does it.
func TestGoTableAgrees(t *testing.T) {
	f, err := elf.Open(testprog.BuildGo(t, "cmd/culprit"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tab, err := f.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	text := f.Section(".text").Addr
	all, err := gosym.NewTable(nil, gosym.NewLineTable(tab, text))
	if err != nil {
		t.Fatal(err)
	}
	got, i := goFunctions(tab, text), 0
	for k := range all.Funcs {
		want := &all.Funcs[k]
		if want.End <= want.Entry || want.Name == "" {
			continue
		}
		if i >= len(got) || got[i].Addr != want.Entry || got[i].Size != want.End-want.Entry || got[i].Linkage != elffile.ValidText(want.Name) {
			t.Fatalf("function %d: want %s at %#x of %d bytes, got %+v", i, want.Name, want.Entry, want.End-want.Entry, got[min(i, len(got)-1)])
		}
		i++
	}
	if i < 1000 || i != len(got) {
		t.Errorf("%d functions, want %d", len(got), i)
	}
}
