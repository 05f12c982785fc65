package daemon

import (
	"path/filepath"
	"slices"
	"testing"

	"culprit/internal/testprog"
)

// TestFilesAreToldByTheirPaths: whole, and from where the program is.
func TestFilesAreToldByTheirPaths(t *testing.T) {
	dir := t.TempDir()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/descriptors.c"), dir)
	namesOf(t, p)
	d := attachTo(t, p.PID)
	d.lockAll()
	defer d.unlockAll()
	f := d.targets[0].Files
	a := filepath.Join(dir, "a")
	if _, ok := f.Number([]string{"File", a}, d.Now()); !ok {
		t.Fatal("the file is not known")
	}
	if got := f.OpenedAs([]string{"File", a}, d.Now()); !slices.Equal(got, []string{a, "a"}) {
		t.Errorf("%q", got)
	}
	for _, elems := range [][]string{{"Socket", "/run/x"}, {"File", "memfd:x"}} {
		if got := f.OpenedAs(elems, d.Now()); got != nil {
			t.Errorf("%q is opened as %q", elems, got)
		}
	}
}
