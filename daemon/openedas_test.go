package daemon

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"culprit/internal/testprog"
)

// TestFilesAreToldByTheirPaths: whole, and from where the program is; only the first of very many.
func TestFilesAreToldByTheirPaths(t *testing.T) {
	dir := t.TempDir()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/descriptors.c"), dir)
	namesOf(t, p)
	d := attachTo(t, p.PID)
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.targets[0].files
	a := filepath.Join(dir, "a")
	if _, ok := f.number([]string{"File", a}); !ok {
		t.Fatal("the file is not known")
	}
	if got := f.openedAs([]string{"File", a}); !slices.Equal(got, []string{a, "a"}) {
		t.Errorf("%q", got)
	}
	told := 1
	for i := range 3 * fewByPath {
		elems := []string{"File", fmt.Sprintf("/nowhere/%d", i)}
		f.seen["IO/File/"+elems[1]] = &seenFile{}
		if _, ok := f.number(elems); ok && f.openedAs(elems) != nil {
			told++
		}
	}
	if told != fewByPath {
		t.Errorf("%d files are told by their paths, want %d", told, fewByPath)
	}
	for _, elems := range [][]string{{"Socket", "/run/x"}, {"File", "memfd:x"}} {
		if got := f.openedAs(elems); got != nil {
			t.Errorf("%q is opened as %q", elems, got)
		}
	}
}
